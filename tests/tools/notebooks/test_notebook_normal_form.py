import json
from pathlib import Path

import nbformat
import pytest

from course_lib.widget_output import WIDGET_VIEW
from tests.tools.notebooks.sample_notebooks import bundle, code, markdown, notebook, stream
from tools import ROOT
from tools.notebooks.notebook_normal_form import (
    METADATA,
    SET_UP,
    SET_UP_END,
    NotebookError,
    colab_link,
    linked_path,
    normal_form,
    read,
    repository,
    to_bytes,
)

HOME = "https://github.com/someone/course"


def normal(*cells: object) -> nbformat.NotebookNode:
    return normal_form(notebook(*cells), path="notebooks/03_heads.ipynb", home=HOME)


def test_the_normal_form_of_a_normal_form_is_itself() -> None:
    result = code("a", "1", [nbformat.v4.new_output("execute_result", data={"text/plain": "1"})])
    once = normal(result, code("b", "print(1)", [stream("1"), stream("\n")], tags=["keep"]))
    twice = normal_form(once, path="notebooks/03_heads.ipynb", home=HOME)
    assert to_bytes(twice) == to_bytes(once)


def test_the_notebook_that_is_given_stays_as_it_was() -> None:
    given = notebook(code("a", "print(1)", [stream("1"), stream("2")]))
    before = to_bytes(given)
    normal_form(given, path="notebooks/a.ipynb", home=HOME)
    assert to_bytes(given) == before


def test_code_cells_are_numbered_from_the_top_and_keep_their_ids() -> None:
    cells = normal(code("b", "1"), markdown("text", "…"), code("a", "2")).cells
    assert [(cell.id, cell.get("execution_count")) for cell in cells] == [
        ("title", None),
        ("b", 1),
        ("text", None),
        ("a", 2),
    ]


def test_a_value_has_the_number_of_its_cell() -> None:
    value = nbformat.v4.new_output("execute_result", data={"text/plain": "1"}, execution_count=7)
    [stored] = normal(code("a", "x = 1"), code("b", "x", [value])).cells[2].outputs
    assert stored.execution_count == 2


def test_metadata_keeps_tags_and_hidden_sources_only() -> None:
    hidden = {"source_hidden": True, "outputs_hidden": False}
    cell = code("a", "1", tags=["t"], jupyter=hidden, execution={"started": "now"}, trusted=True)
    given = notebook(cell)
    given.metadata["widgets"] = {"state": {}}
    stored = normal_form(given, path="notebooks/a.ipynb", home=HOME)
    assert stored.metadata == METADATA
    folded = {"jupyter": {"source_hidden": True}, "cellView": "form"}
    assert stored.cells[1].metadata == {"tags": ["t"], **folded}


def test_only_folded_cells_are_folded_in_colab() -> None:
    shown, folded = code("a", "1", cellView="form"), code("b", "2", jupyter={"source_hidden": True})
    cells = normal(shown, folded).cells
    assert [cell.metadata.get("cellView") for cell in cells[1:]] == [None, "form"]


def test_outputs_of_one_stream_are_joined_and_of_two_are_not() -> None:
    messages = [stream("a"), stream("b"), stream("c", "stderr"), stream("d")]
    outputs = normal(code("a", "1", messages)).cells[1].outputs
    assert [output.text for output in outputs] == ["ab", "c", "d"]


def test_widget_views_go_and_the_picture_beside_them_stays() -> None:
    live, alone = bundle(png="aGk=", plain="what is seen"), bundle()
    for output in (live, alone):
        output.data[WIDGET_VIEW] = {"model_id": "1f"}
    [stored] = normal(code("a", "1", [live, alone])).cells[1].outputs
    assert set(stored.data) == {"text/html", "text/plain"}


def test_an_output_keeps_no_metadata() -> None:
    picture = bundle(png="aGk=", plain="what is seen")
    picture.metadata = {"needs_background": "light"}
    [stored] = normal(code("a", "1", [picture])).cells[1].outputs
    assert stored.metadata == {}


def test_an_error_is_stored_without_its_traceback() -> None:
    error = nbformat.v4.new_output(
        "error", ename="ValueError", evalue="no", traceback=["File /home/me/course_lib/x.py"]
    )
    [stored] = normal(code("a", "1", [error])).cells[1].outputs
    assert stored.traceback == ["ValueError: no"]


def test_link_and_set_up_cell_lead_to_the_repository() -> None:
    badge = "[![Open in Colab](badge.svg)](https://colab.research.google.com/github/old/x.ipynb) ↗"
    given = notebook(code("set-up", "import what_was_here"))
    given.cells[0] = markdown("title", badge)
    stored = normal_form(given, path="notebooks/03_heads.ipynb", home=HOME)
    assert colab_link("notebooks/03_heads.ipynb", home=HOME) in stored.cells[0].source
    assert stored.cells[0].source.endswith("/notebooks/03_heads.ipynb) ↗")
    assert f'"git+{HOME}"' in stored.cells[1].source
    assert "what_was_here" not in stored.cells[1].source
    assert stored.cells[1].metadata["jupyter"] == {"source_hidden": True}


def test_what_a_lesson_adds_to_its_set_up_cell_stays() -> None:
    given = notebook(code("set-up", f"import old\n\n{SET_UP_END}\n\nimport math"))
    [cell] = normal_form(given, path="notebooks/03_heads.ipynb", home=HOME).cells[1:]
    assert cell.source == SET_UP.format(home=HOME) + "\n\nimport math"


def test_the_link_of_a_solution_leads_to_its_exercise() -> None:
    assert linked_path(ROOT / "solutions/06_masks/masks.ipynb") == "exercises/06_masks/masks.ipynb"
    assert linked_path(ROOT / "notebooks/06_masks.ipynb") == "notebooks/06_masks.ipynb"
    assert linked_path(Path("/elsewhere/solutions/x.ipynb")) == "notebooks/x.ipynb"


def test_links_to_files_of_the_library_lead_to_the_repository_and_others_stay() -> None:
    theirs = "[a](https://github.com/them/it/blob/main/model.py)"
    given = notebook(
        markdown("links", f"[b](https://github.com/old/x/blob/main/course_lib/a.js) {theirs}"),
    )
    stored = normal_form(given, path="notebooks/03_heads.ipynb", home=HOME)
    assert stored.cells[-1].source == f"[b]({HOME}/blob/main/course_lib/a.js) {theirs}"


def test_a_repository_that_colab_cannot_open_is_refused() -> None:
    with pytest.raises(NotebookError, match=r"expected .* to begin with https://github\.com/"):
        colab_link("notebooks/a.ipynb", home="https://example.org/course")


def test_the_repository_of_this_project_can_be_opened_by_colab() -> None:
    assert colab_link("notebooks/a.ipynb", home=repository()).endswith(
        "/blob/main/notebooks/a.ipynb"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "JSONDecodeError"),
        ("[]", "TypeError"),
        ('{"cells": [{"cell_type": "code"}]}', "KeyError: 'id'"),
        (
            '{"cells": [{"id": "a", "cell_type": "cod"}], "nbformat": 4}',
            "expected a valid notebook",
        ),
    ],
)
def test_a_broken_notebook_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "broken.ipynb"
    path.write_text(text)
    with pytest.raises(NotebookError, match=rf"broken\.ipynb: .*{message}"):
        read(path)


def test_two_cells_with_one_id_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "copied.ipynb"
    content = json.loads(to_bytes(notebook(code("a", "1"))))
    content["cells"].append(content["cells"][1])
    path.write_text(json.dumps(content))
    with pytest.raises(NotebookError, match=r"copied\.ipynb: .*found two called 'a'"):
        read(path)
