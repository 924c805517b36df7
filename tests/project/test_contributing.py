"""What CONTRIBUTING.md and docs/maintaining.md name exists, and they quote what the code says."""

import importlib.util
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from course_lib.cli import main
from tools.items import item_rules

ROOT = Path(__file__).resolve().parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
TEXT = CONTRIBUTING + (ROOT / "docs" / "maintaining.md").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
SPANS = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", TEXT, flags=re.M | re.S))
CODE = SPANS + re.findall(r"^(?:make|python|course) .*", TEXT, re.MULTILINE)
EXAMPLES = ("my_item", "my-item", "19_topic")  # what a contributor might add
NOT_OURS = ("build", "twine")  # of the environment in which a release is made
MADE_BY_A_RUN = (
    *("evidence/", "runs/small", "runs/everyday", "llms.txt"),
    *(".venv", ".venv/bin/activate", ".venv/bin/lint-imports"),
)
PATH = re.compile(r"[\w.-]+(?:/[\w.-]*)+|\w+\.(?:py|md|toml|yml|cff|txt|safetensors)")
NAME = re.compile(r"[A-Z]\w+(?:\.\w+)?")


def named(pattern):
    """The parts of commands that match, without those that are examples."""
    found = {match for code in CODE for match in re.findall(pattern, code)}
    return sorted(match for match in found if not any(example in match for example in EXAMPLES))


@cache
def sources():
    files = [path for folder in ("course_lib", "tools", "tests") for path in folder_files(folder)]
    return "\n".join(path.read_text("utf-8") for path in files)


def folder_files(folder):
    return [path for path in (ROOT / folder).rglob("*.py") if path != Path(__file__)]


PATHS = sorted(
    {
        word
        for span in SPANS
        for word in span.split()
        if PATH.fullmatch(word)
        and word not in MADE_BY_A_RUN
        and not any(example in word for example in EXAMPLES)
    }
)


@pytest.mark.parametrize("path", PATHS)
def test_every_path_exists(path):
    """From the root or, as in the table, from course_lib; or the name of a file beside another."""
    found = [ROOT / path, ROOT / "course_lib" / path]
    if "/" not in path:
        found += [*(ROOT / "course_lib").rglob(path), *(ROOT / "tools").rglob(path)]
    assert any(each.exists() for each in found)


def test_contributing_stays_short_enough_to_be_read():
    assert len(CONTRIBUTING.splitlines()) <= 125


@pytest.mark.parametrize("target", named(r"\bmake ([a-z-]+)"))
def test_every_make_target_exists(target):
    assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)


@pytest.mark.parametrize("module", sorted({*named(r"python -m ([\w.]+)")} - {*NOT_OURS}))
def test_every_module_that_is_run_exists(module):
    assert importlib.util.find_spec(module)


@pytest.mark.parametrize("verb", named(r"\bcourse ([a-z]+)"))
def test_every_subcommand_exists(verb, capsys):
    with pytest.raises(SystemExit) as ended:
        main([verb, "--help"])
    assert ended.value.code == 0, capsys.readouterr().err


@pytest.mark.parametrize("name", sorted({s for s in SPANS if NAME.fullmatch(s)} - {*PATHS}))
def test_every_class_and_constant_exists(name):
    for part in name.split("."):
        assert re.search(rf"(?:class|def) {part}\b|^{part}\b.* =", sources(), re.MULTILINE) or (
            (ROOT / part).exists()
        )


def test_enough_is_named_for_these_tests_to_mean_something():
    assert len(PATHS) > 80
    targets = {"test", "test-all", "notebooks", "exercises", "new-item", "item"}
    assert targets <= set(named(r"make ([a-z-]+)"))


def test_the_picture_shows_the_layers_of_the_contract():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    picture = re.search(r"^```text\n(.*?)^```", CONTRIBUTING, re.MULTILINE | re.DOTALL)[
        1
    ].splitlines()
    assert [re.split(r"\s{2,}", line)[0] for line in picture] == layers


@pytest.mark.parametrize(
    "rule",
    [
        *item_rules.RULES,
        item_rules.enough_alternatives,
        item_rules.check_after_answer,
        item_rules.no_line_of_the_answer_in_a_hint,
        item_rules.no_cell_to_fill_in,
    ],
    ids=lambda rule: rule.__name__,
)
def test_the_rules_for_items_are_quoted(rule):
    assert f"\n- {rule.__doc__}\n" in TEXT


def test_the_extent_of_a_text_is_that_of_the_rule():
    extent = f"{item_rules.MIN_CHARACTERS} to {item_rules.MAX_CHARACTERS} characters"
    assert extent in item_rules.short_sentences.__doc__
