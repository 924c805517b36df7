"""The workflows on GitHub are safe to run, and run what exists."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".github" / "workflows"
TEXTS = {path.stem: path.read_text("utf-8") for path in sorted(FOLDER.glob("*.yml"))}
WORKFLOWS = {name: yaml.safe_load(text) for name, text in TEXTS.items()}
JOBS = {
    f"{name}.{job}": content
    for name, workflow in WORKFLOWS.items()
    for job, content in workflow["jobs"].items()
}
MAY_WRITE = {  # the site and the package, nothing else
    "pages.publish": {"pages": "write", "id-token": "write"},
    "release.publish": {"id-token": "write"},
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def triggers(workflow):
    return workflow[True]  # YAML reads `on` as a boolean


def commands(job):
    return "\n".join(step.get("run", "") for step in JOBS[job]["steps"])


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_may_only_read_and_can_be_started_by_hand_or_by_a_tag(name):
    workflow = WORKFLOWS[name]
    assert workflow["permissions"] == {"contents": "read"}
    assert "group" in workflow["concurrency"]
    by_tag = triggers(workflow) == {"push": {"tags": ["v*"]}}
    assert by_tag == (name == "release")  # a release is what was tagged
    assert by_tag or "workflow_dispatch" in triggers(workflow)
    assert "pull_request_target" not in triggers(workflow)


@pytest.mark.parametrize("name", JOBS)
def test_a_job_ends_and_asks_for_no_further_rights(name):
    assert JOBS[name]["timeout-minutes"] <= 120
    assert JOBS[name].get("permissions", {}) == MAY_WRITE.get(name, {})
    assert "secrets." not in str(JOBS[name])


@pytest.mark.parametrize("name", JOBS)
def test_checkout_leaves_no_token_behind(name):
    checkouts = [s for s in JOBS[name]["steps"] if s.get("uses", "").startswith("actions/checkout")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_every_action_is_pinned_to_one_commit_and_dependabot_moves_it():
    pins = {}
    for text in TEXTS.values():
        for line in re.findall(r"uses: (.*)", text):
            action, commit, version = re.fullmatch(
                r"(\S+)@([0-9a-f]{40}) # (v[\d.]+)", line
            ).groups()
            pins.setdefault(action, set()).add((commit, version))
    assert pins and all(len(each) == 1 for each in pins.values()), pins
    dependabot = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text("utf-8"))
    assert [update["package-ecosystem"] for update in dependabot["updates"]] == ["github-actions"]


def test_no_command_contains_what_somebody_else_may_write():
    """Such as the title of a pull request: a shell would execute it."""
    for name in JOBS:
        assert not re.search(r"\$\{\{(?!\s*(?:matrix|runner)\.)", commands(name)), name


def test_a_runner_of_our_own_never_sees_a_pull_request_and_is_ephemeral():
    own = {name for name, job in JOBS.items() if "self-hosted" in job["runs-on"]}
    assert own == {"gpu.gpu"}
    assert set(triggers(WORKFLOWS["gpu"])) == {"push", "schedule", "workflow_dispatch"}
    assert triggers(WORKFLOWS["gpu"])["push"] == {"branches": ["main"]}
    assert "ephemeral" in JOBS["gpu.gpu"]["runs-on"]


def test_the_gpu_runs_the_comparison_with_the_cpu_and_every_lesson():
    run = commands("gpu.gpu")
    assert "pytest tests/gpu" in run and "-p tools.notebooks.nbval_plugin --nbval notebooks" in run
    assert WORKFLOWS["gpu"]["env"]["COURSE_GPU"]  # without it, a missing GPU would skip the tests


def test_every_python_and_every_system_is_tried():
    matrix = JOBS["nightly.everything"]["strategy"]["matrix"]
    tried = {(system, python) for system in matrix["os"] for python in matrix["python"]}
    tried |= {(more["os"], more["python"]) for more in matrix["include"]}
    pythons = {python for _, python in tried}
    assert pythons == {"3.11", "3.12", "3.13", "3.14"}
    assert min(pythons) == PROJECT["requires-python"].removeprefix(">=")
    assert {system for system, _ in tried} == {"ubuntu-latest", "macos-latest"}
    assert JOBS["nightly.windows"]["runs-on"] == "windows-latest"
    assert "--nbval notebooks" in commands("nightly.windows")


@pytest.mark.parametrize(
    "job, resolution", [("nightly.lowest", "lowest-direct"), ("weekly.newest", "highest")]
)
def test_lowest_and_newest_versions_are_tried_without_constraints(job, resolution):
    run = commands(job)
    assert f"--resolution {resolution} --all-extras -r pyproject.toml -e ." in run
    assert "constraints" not in run


def test_the_lowest_versions_are_tried_with_the_oldest_python():
    [python] = [
        s["with"] for s in JOBS["nightly.lowest"]["steps"] if "setup-python" in s.get("uses", "")
    ]
    assert PROJECT["requires-python"] == f">={python['python-version']}"


def test_what_differs_is_uploaded_from_every_job_that_runs_lessons():
    for name, job in JOBS.items():
        if "--nbval" in commands(name) or "make test" in commands(name):
            folder = WORKFLOWS[name.partition(".")[0]]["env"]["COURSE_DIFFERENCES"]
            paths = [s["with"]["path"] for s in job["steps"] if "upload" in s.get("uses", "")]
            assert paths == [folder], name
            assert f"/{folder}/\n" in (ROOT / ".gitignore").read_text("utf-8")


def test_each_push_runs_every_test_and_every_notebook_in_jobs_side_by_side():
    jobs = WORKFLOWS["ci"]["jobs"]
    assert list(jobs) == ["fast", "slow", "notebooks", "browser", "wheel"]
    assert not any("needs" in job for job in jobs.values())
    assert "make test " in commands("ci.fast")
    assert commands("ci.slow").strip().endswith("--cov --ignore=tests/browser tests")
    assert commands("ci.notebooks").strip().endswith("notebooks solutions exercises")
    assert commands("ci.browser").strip().endswith("tests/browser tests/js")


def test_make_targets_files_and_modules_that_are_named_exist():
    run = "\n".join(commands(name) for name in JOBS)
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for words in re.findall(r"^make (.+)", run, re.MULTILINE):
        for target in (word for word in words.split() if "=" not in word):
            assert f"\n{target}:" in makefile, target
    for file in re.findall(r"[\w-]+\.(?:txt|yml)\b", run):
        assert (ROOT / file).exists(), file
    for module in re.findall(r"tools(?:\.\w+)+", run):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module
