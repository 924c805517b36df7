"""The notebook for formgrader: what it shows, and that nothing in it is more than text."""

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbconvert.filters import markdown2html

from course_lib.grading.nbgrader.autograded import (
    INSTRUCTOR,
    as_plain_block,
    autograded_notebook,
    summary,
)
from course_lib.grading.results import PropertyResult
from tests.grading.hostile_text import EVERYTHING, HOSTILE
from tests.grading.made_results import item_result
from tests.grading.nbgrader.nbgrader_course import (
    WRITTEN,
    activity,
    hand_in,
    result_of,
    shown_in_formgrader,
    unreadable,
)
from tests.grading.notebooks_to_hand_in import RIGHT, ROOT, with_cell
from tests.item_points import in_full, points_of

RELEASED = ROOT / "exercises" / "06_masks" / "masks.ipynb"


@pytest.fixture
def autograded(masks, notebook, tmp_path):
    """``autograded(result, notebook=…, …)``: the notebook that is made of a hand-in."""
    released = nbformat.read(RELEASED, as_version=4)

    def make(result, handed_in=notebook, *, rubrics=None, **answers):
        given = hand_in(tmp_path / "ana", handed_in, masks, **answers)
        return autograded_notebook(
            released, masks, answers=given.transplant, result=result, rubrics=rubrics or {}
        )

    return make


def sources(notebook):
    return {cell.id: cell.source for cell in notebook.cells}


def test_it_is_the_released_notebook_with_the_answers_and_what_the_checks_found(masks, autograded):
    made = autograded(result_of(masks, points=in_full("06.padding_mask")))
    released = nbformat.read(RELEASED, as_version=4)
    assert [cell.id for cell in made.cells] == [cell.id for cell in released.cells]
    assert sources(made)["06-padding-mask-answer"] == RIGHT["06-padding-mask-answer"].strip()
    for before, cell in zip(released.cells, made.cells, strict=True):
        assert cell.metadata == before.metadata
        if cell.id not in RIGHT:
            assert cell.source == before.source
        shown = "".join(output.text for output in cell.get("outputs", []))
        assert shown.startswith(("✓ 06.", "✗ 06.")) == cell.id.endswith("-check")
    most = points_of("06.padding_mask")
    line = f"✓ 06.padding_mask · Mask the padding: passed · {most} of {most} points"
    assert line in str(made.cells)
    nbformat.validate(made)


def test_helper_cells_and_outputs_of_the_learner(masks, autograded, notebook):
    helper = with_cell(notebook, "def helper(): ...", outputs=[], after="06-padding-mask-answer")
    for cell in helper["cells"]:
        if cell["cell_type"] == "code":
            data = {"text/html": "<script>alert(1)</script>"}
            cell["outputs"] = [{"output_type": "display_data", "data": data, "metadata": {}}]
    made = autograded(result_of(masks), helper)
    ids = [cell.id for cell in made.cells]
    after = made.cells[ids.index("06-padding-mask-answer") + 1]
    assert after.source == "def helper(): ..." and not after.outputs
    assert "alert" not in nbformat.writes(made)
    assert made == autograded(result_of(masks), helper)


def test_rubrics_flags_and_notes_are_in_cells_that_feedback_leaves_out(masks, autograded):
    result = result_of(masks, written="Because.", note="eval( is unusual")
    made = autograded(result, written="Because.", rubrics={"06.why_not_rows": "**Rubric**: 2"})
    private = [cell.source for cell in made.cells if INSTRUCTOR in cell.metadata.get("tags", [])]
    assert "eval( is unusual" in private[0] and "**Rubric**: 2" in private[-1]
    public = [cell for cell in made.cells if INSTRUCTOR not in cell.metadata.get("tags", [])]
    assert "Rubric" not in str([cell.source for cell in public])
    ids = [cell.id for cell in made.cells]
    assert made.cells[ids.index(WRITTEN) + 1].source.endswith("**Rubric**: 2")


def test_what_could_not_be_read_is_reported_above_the_released_cells(masks):
    released = nbformat.read(RELEASED, as_version=4)
    made = autograded_notebook(released, masks, answers=None, result=unreadable(masks), rubrics={})
    assert "could not be read" in made.cells[0].source and not made.cells[0].metadata
    assert "not 0" in made.cells[1].source and "expected a notebook" in made.cells[1].source
    assert not any(cell.get("outputs") for cell in made.cells)


def test_the_summary_names_misconceptions_with_their_sentences():
    tests = (PropertyResult("it is a mask", "expected True, got False"),)
    text = summary(
        item_result(
            "06.padding_mask",
            0.0,
            title="M",
            misconceptions=("polarity_turned_round",),
            tests=tests,
        )
    )
    assert "✗ 06.padding_mask · M: not yet · 0 of 2 points" in text
    assert "✗ it is a mask\n        expected True, got False" in text
    assert "Recognised: polarity_turned_round" in text and "Your mask is inverted" in text
    assert "no time is left" in summary(item_result("06.bug", None, reason="no time is left"))
    assert "? of 2 points" in summary(item_result("06.bug", None))
    assert "line was not named" in summary(item_result("06.bug", 0, line_found=False))


@pytest.mark.parametrize(
    ("name", "conventions", "sentence"),
    [
        ("no_room_for_heads", ["keys_then_queries"], "The misconception “no room for heads”"),
        ("forgets_true_hides", ["true_hides"], "follows the lesson here, not your group"),
        ("polarity_turned_round", ["of an older course"], "Recognised: polarity_turned_round\n"),
    ],
)
def test_the_summary_has_the_words_of_a_variant(name, conventions, sentence):
    text = summary(
        item_result("06.padding_mask", 0.0, misconceptions=(name,), conventions=tuple(conventions))
    )
    assert sentence in text
    assert "True at the padding" not in text


def test_long_lines_are_wrapped_and_long_cells_cut(masks, autograded):
    assert as_plain_block("word " * 100).count("\n") > 4
    made = autograded(result_of(masks), answers={"06-causal-mask-answer": "x = 1\n" * 20_000})
    assert len(sources(made)["06-causal-mask-answer"]) < 60_000


@pytest.fixture(scope="module")
def harmless(masks, tmp_path_factory):
    """What formgrader's own page can run and fetch."""
    released = nbformat.read(RELEASED, as_version=4)
    result = result_of(masks, written="Because.", note="A note.")
    return activity(
        page_of(
            autograded_notebook(released, masks, answers=None, result=result, rubrics={}),
            tmp_path_factory.mktemp("p"),
        )
    )


def page_of(notebook, folder):
    path = folder / "masks.ipynb"
    nbformat.write(notebook, path)
    return shown_in_formgrader(path)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_plain_block_is_nothing_but_text(text):
    shown = BeautifulSoup(markdown2html(as_plain_block(text)), "html.parser")
    assert [element.name for element in shown.find_all(True)] == ["pre", "code"]
    kept = "".join(c for c in text if c.isprintable() and not c.isspace())
    assert "".join(shown.get_text().split()) == kept


@pytest.mark.slow
def test_nothing_that_a_learner_writes_is_more_than_text(masks, autograded, harmless, tmp_path):
    result = result_of(masks, written=EVERYTHING, note=EVERYTHING)
    code = {"06-padding-mask-answer": f"padding_mask = '''{EVERYTHING}'''\n{EVERYTHING}"}
    page = page_of(autograded(result, written=EVERYTHING, answers=code), tmp_path)
    assert activity(page) == harmless
    assert BeautifulSoup(page, "html.parser").get_text().count(HOSTILE[0]) >= 4


def test_the_test_would_notice_a_script(masks, harmless, tmp_path, autograded):
    made = autograded(result_of(masks))
    made.cells[0].source = HOSTILE[0]
    assert activity(page_of(made, tmp_path)) != harmless
