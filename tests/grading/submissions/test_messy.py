"""Notebooks as they really come: each gets its marks for what is right in it."""

import inspect
import json
import shutil
import time
from dataclasses import replace

import pytest

from course_lib.grading.class_run import grade
from course_lib.grading.class_run.grade import ENDED, NO_THREAD, grade_submission, read_hand_in
from tests.checks.alternatives import masks as alternatives
from tests.grading.notebooks_to_hand_in import (
    RIGHT,
    RIGHT_ITEMS,
    ROOT,
    SECRET,
    SHORT,
    answered,
    item_of,
    points,
    with_cell,
)
from tests.item_points import in_full, points_of

THREE = in_full(*RIGHT_ITEMS)
# What is added to a notebook with three right answers, as a cell of its own.
DISTURBANCES = {
    "a syntax error": "def broken(:",
    "an error": "print(undefined)",
    "sys.exit": "import sys; sys.exit()",
    "an infinite loop": "while True: pass",
    "os._exit": "import os; os._exit(1)",
    "warnings": "import sys, warnings; warnings.warn('careful'); print('x', file=sys.stderr)",
    "a flood of output": "for _ in range(100_000): print('x' * 100)",
    "a magic": "%matplotlib inline\n!pip install something\nx = 3",
    "a cell magic": "%%time\nx = 3",
    "a question": "torch.softmax?",
    "another default dtype": "torch.set_default_dtype(torch.float64)",
    "no gradients": "torch.set_grad_enabled(False)",
    "another seed": "torch.manual_seed(7)",
    "an empty cell": "",
    "a check of its own": 'report = check("06.padding_mask", padding_mask)\nprint(report)',
}


@pytest.mark.parametrize("name", DISTURBANCES)
def test_a_cell_that_goes_wrong_costs_the_others_nothing(name, graded, notebook, three_items):
    handed_in = with_cell(answered(notebook, RIGHT), DISTURBANCES[name])
    assert points(graded(handed_in, three_items)) == THREE


@pytest.mark.slow
def test_the_definitions_of_a_cell_that_is_stopped_count(graded, notebook, three_items):
    for ending in ("while True: pass", "import os; os._exit(0)"):
        answers = {name: f"{source}\n{ending}" for name, source in RIGHT.items()}
        result = graded(answered(notebook, answers | {"06-decoder-mask-answer": ""}), three_items)
        assert points(result) == in_full("06.padding_mask", "06.causal_mask")
        assert "Only its definitions count." in result.notes[0]


@pytest.mark.slow
def test_a_cell_whose_definitions_take_too_long_costs_its_time_twice_and_no_more(
    graded, notebook, three_items
):
    slow = "def slow(f):\n    while True: pass\n@slow\ndef g(): pass"
    result = graded(with_cell(answered(notebook, RIGHT), slow), three_items)
    assert points(result) == THREE
    assert "was stopped" in result.notes[0]
    assert "Not even its definitions count." in result.notes[0]


def test_an_answer_after_an_error_in_its_own_cell_counts_if_it_was_defined(
    graded, notebook, three_items
):
    answers = {name: source + "\nprint(1 / 0)" for name, source in RIGHT.items()}
    result = graded(answered(notebook, answers), three_items)
    assert points(result) == THREE
    assert "raised ZeroDivisionError: division by zero." in result.notes[0]


def test_the_definition_in_a_block_below_an_error_counts(graded, notebook, one_item):
    answer = """\
import a_package_that_nobody_has
try:
    import another_one
except ImportError:
    another_one = None
if another_one is None:
    axes = (None, None)
with torch.no_grad():
    def padding_mask(tokens, pad_id):
        return (tokens != pad_id)[:, *axes]
"""
    result = graded(answered(notebook, {"06-padding-mask-answer": answer}), one_item)
    assert points(result) == in_full("06.padding_mask")


MAGICS = {
    "%%time below space": ("", "   \n%%time\n{answer}"),
    "%time of an assignment": ("%time axes = (None, None)", "{answer}"),
    "%%writefile": ("%%writefile mine.py\naxes = (None, None)", "from mine import axes\n{answer}"),
    "await": (
        "import asyncio\nawait asyncio.sleep(0.01)\n"
        "axes = await asyncio.to_thread(lambda: [None] * 2)",
        "{answer}",
    ),
    "get_ipython": (
        "from IPython import get_ipython\nget_ipython().system('ls')\naxes = None, None",
        "{answer}",
    ),
}


@pytest.mark.parametrize("name", MAGICS)
def test_a_command_of_the_notebook_hides_no_definition(name, graded, notebook, one_item):
    above, answer = MAGICS[name]
    source = "def padding_mask(tokens, pad_id):\n    return (tokens != pad_id)[:, *axes]"
    source = source if above else source.replace("*axes", "None, None")
    answers = {"06-padding-mask-answer": answer.format(answer=source)}
    result = graded(with_cell(answered(notebook, answers), above), one_item)
    assert points(result) == in_full("06.padding_mask")
    assert not any("raised" in note for note in result.notes)


@pytest.mark.parametrize("decorator", ["@torch.compile", "@torch.compile(fullgraph=True)"])
def test_a_compiled_answer_runs_without_a_compiler(decorator, graded, notebook, one_item):
    answer = f"{decorator}\n{RIGHT['06-padding-mask-answer']}"
    result = graded(answered(notebook, {"06-padding-mask-answer": answer}), one_item)
    assert points(result) == in_full("06.padding_mask")


OVERWRITING = {
    "a call's result": "causal_mask = causal_mask(5)",
    "loops": "for padding_mask in range(3): pass\nfor causal_mask, x in [(1, 2)]: pass",
    "del": "del causal_mask, padding_mask",
    "with": "import io\nwith io.StringIO() as causal_mask: pass",
    "an import": "import math as causal_mask",
    "another function's import": "from math import exp as padding_mask",
    "a stub": "def causal_mask(size):\n    raise NotImplementedError",
    "a stub for a test": "def padding_mask(tokens, pad_id):\n    return torch.ones(2, 1, 1, 5)",
    "an assignment in an expression": "print(causal_mask := 3)",
    "a class": "class decoder_mask:\n    pass",
    "everything": "from torch import *\nglobals().update(causal_mask=3, padding_mask=4)",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OVERWRITING)
@pytest.mark.parametrize("change", [lambda notebook: notebook, "without_any_id"])
def test_a_cell_further_down_takes_nothing_away_that_the_learner_s_check_saw(
    name, change, graded, notebook, three_items
):
    handed_in = with_cell(answered(notebook, RIGHT), OVERWRITING[name], after="06-bug-check")
    if isinstance(change, str):
        handed_in = globals()[change](handed_in)
    result = graded(handed_in, three_items)
    assert points(result) == THREE
    assert any("was graded as it stood at the learner's own check" in n for n in result.notes)


@pytest.mark.parametrize(
    "scratch",
    ["causal_mask = causal_mask(5)", "x = 1\ndel causal_mask", "for causal_mask in range(2): pass"],
)
def test_a_scratch_cell_between_two_answers_takes_nothing_away_from_the_second(
    scratch, graded, notebook, three_items
):
    handed_in = with_cell(answered(notebook, RIGHT), scratch, after="06-causal-mask-check")
    result = graded(handed_in, three_items)
    assert points(result) == THREE
    assert sum("was graded as it stood" in note for note in result.notes) == 2


def test_cells_that_fail_crowd_out_no_other_note(graded, notebook, one_item, monkeypatch):
    monkeypatch.setattr(grade, "_MOST_NOTES", 4)
    handed_in = with_cell(answered(notebook, RIGHT), "padding_mask = 3", after="06-bug-check")
    for number in range(3):
        handed_in = with_cell(handed_in, f"1 / 0  # {number}", id=f"fails{number}")
    first, _, third, last = graded(handed_in, one_item).notes
    assert first.startswith("06.padding_mask was graded as it stood at the learner's own check")
    assert "raised ZeroDivisionError" in third
    assert last == "2 more notes are left out."


WRONG = {name: source.replace("return", "return 0 *") for name, source in RIGHT.items()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scratch", "twice"),
    [
        ("# padding_mask: Tensor\nx = y = 3\nprint(padding_mask, axes)", 0),
        ("def test():\n    padding_mask = 3\n    test()\nclass A(nn.Module): x = f(3)", 0),
        ("padding_mask = 3", 2),
        ("def test():\n    padding_mask = 3\ntest()", 3),
        ("x = 3\nif x == 3:\n    test()", 3),
    ],
)
def test_cells_run_twice_only_for_a_wrong_answer_above_one_that_may_have_overwritten_it(
    scratch, twice, graded, notebook, three_items, jail, monkeypatch
):
    started, session = [], jail.session
    monkeypatch.setattr(
        jail, "session", lambda *given, **more: started.append(given) or session(*given, **more)
    )
    handed_in = with_cell(answered(notebook, WRONG), scratch, after="06-bug-check")
    assert points(graded(handed_in, three_items)) == {}
    assert len(started) == 3 + twice


CHANGING = {
    "an attribute": "padding_mask.__code__ = (lambda tokens, pad_id: tokens).__code__",
    "an element": "axes[1] = 0",
    "a method": "axes.append(None)",
    "a function": "def patch(what):\n    what.clear()\npatch(axes)",
    "a module": "import torch; torch.ne = torch.eq",
    "what is in brackets": "(axes).append(None)",
    "an augmented assignment": "axes += [None]",
    "what is printed": "print(axes.pop())",
    "a loop": "for each in axes, axes:\n    each.append(None)",
}


@pytest.mark.parametrize("name", CHANGING)
def test_a_cell_that_changes_what_an_answer_uses_takes_nothing_away(
    name, graded, notebook, one_item
):
    source = "axes = [slice(None), None, None]\n\ndef padding_mask(tokens, pad_id):\n"
    source += "    return torch.ne(tokens, pad_id)[tuple(axes)]"
    answer = answered(notebook, {"06-padding-mask-answer": source})
    result = graded(with_cell(answer, CHANGING[name], after="06-bug-check"), one_item)
    assert points(result) == in_full("06.padding_mask")
    assert any("was graded as it stood at the learner's own check" in n for n in result.notes)


def test_an_answer_below_its_check_is_not_lost_either(graded, notebook, one_item):
    answer = with_cell(notebook, RIGHT["06-padding-mask-answer"], after="06-padding-mask-check")
    handed_in = with_cell(answer, "padding_mask = 3", after="own", id="scratch")
    assert points(graded(handed_in, one_item)) == in_full("06.padding_mask")


def test_an_answer_that_is_improved_further_down_counts_as_improved(graded, notebook, three_items):
    wrong = {name: source.replace("return", "return ~") for name, source in RIGHT.items()}
    handed_in = with_cell(
        answered(notebook, wrong), "\n".join(RIGHT.values()), after="06-bug-check"
    )
    assert points(graded(handed_in, three_items)) == THREE


def test_an_answer_that_neither_the_end_nor_the_check_saw_right_earns_nothing(
    graded, notebook, one_item
):
    between = with_cell(notebook, RIGHT["06-padding-mask-answer"], after="06-padding-mask-answer")
    wrong = "def padding_mask(tokens, pad_id):\n    return tokens == pad_id"
    last = with_cell(between, f"{wrong}\n", after="06-padding-mask-check", id="last")
    cells = {cell["id"]: cell for cell in last["cells"]}
    cells["06-padding-mask-check"]["source"] = ""
    handed_in = with_cell(last, wrong + "  # again", after="own", id="again")
    assert points(graded(handed_in, one_item)) == {}


def test_a_copied_cell_counts_as_it_was_answered_last(graded, notebook, three_items):
    copies = answered(notebook, RIGHT)
    cells = copies["cells"]
    at = next(i for i, cell in enumerate(cells) if cell["id"] == "06-padding-mask-answer")
    wrong = {**cells[at], "source": "def padding_mask(tokens, pad_id):\n    return tokens"}
    untouched = next(c for c in notebook["cells"] if c["id"] == "06-padding-mask-answer")
    cells[at:at] = [wrong]
    cells += [untouched]
    result = graded(copies, three_items)
    assert points(result) == THREE
    assert any("is there 3 times" in note for note in result.notes)


def test_an_answer_split_over_two_cells_counts(graded, notebook, masks):
    parts = ["def wrong_line():\n    return 5\n", BUG_FIXED]
    split = answered(notebook, {"06-bug-answer": parts[0]})
    cells = split["cells"]
    at = next(i for i, cell in enumerate(cells) if cell["id"] == "06-bug-answer")
    cells.insert(at + 1, {**cells[at], "source": parts[1]})
    assert points(graded(split, masks)) == in_full("06.bug")


BUG_FIXED = """\
def cross_attention_weights(query, key, source, pad_id):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return scores.masked_fill((source == pad_id)[:, None, None, :], -1e9).softmax(dim=-1)
"""


@pytest.mark.slow
def test_the_wrong_line_must_be_a_number_and_the_right_one(graded, notebook, masks):
    for line in ("True", "4", "'5'", "None", "[5]", "float('nan')"):
        source = f"def wrong_line():\n    return {line}\n{BUG_FIXED}"
        result = graded(answered(notebook, {"06-bug-answer": source}), masks)
        assert points(result) == {}
        assert item_of(result, "06.bug").line_found is False


@pytest.mark.parametrize("name", ["padding_by_loops", "padding_by_unsqueeze", "padding_by_where"])
def test_a_right_answer_written_differently_keeps_its_marks(name, graded, notebook, one_item):
    source = inspect.getsource(getattr(alternatives, name)) + f"\npadding_mask = {name}"
    result = graded(answered(notebook, {"06-padding-mask-answer": source}), one_item)
    assert points(result) == in_full("06.padding_mask")


ODD = [
    *("None", "{}", "[[[]]]", "2**300", "float('nan')", "'text'", "b'x'", "{1, 2}", "object()"),
    *("{tokens: 1}", "{(1, 2): [tokens]}", "tokens.to_sparse()", "tokens.to('meta')", "print"),
    *("torch.zeros(0)", "torch.zeros(())", "tokens.to(torch.complex64)", "[tokens, None]"),
    *("(x for x in 'ab')", "torch.zeros(2, 1, 1, 4).expand(2, 9, 9, 4)", "Exception"),
]


@pytest.mark.slow
def test_odd_results_earn_nothing_and_stop_nothing(graded, notebook, one_item):
    for odd in ODD:
        source = f"def padding_mask(tokens, pad_id):\n    return {odd}"
        [item] = graded(answered(notebook, {"06-padding-mask-answer": source}), one_item).items
        assert (item.points, item.status) == (0.0, "not yet"), odd


def test_a_misconception_is_named(graded, notebook, three_items):
    inverted = RIGHT["06-padding-mask-answer"].replace("!=", "==")
    result = graded(answered(notebook, {"06-padding-mask-answer": inverted}), three_items)
    assert result.items[0].misconceptions == ("polarity_turned_round",)
    assert result.items[0].status == "not yet"


def test_helper_cells_are_kept_in_order(graded, notebook, three_items):
    helper = "def real(tokens, pad_id):\n    return tokens != pad_id"
    answer = "def padding_mask(t, p):\n    return real(t, p)[:, None, None]"
    handed_in = with_cell(answered(notebook, {"06-padding-mask-answer": answer}), helper)
    assert points(graded(handed_in, three_items)) == in_full("06.padding_mask")


def test_an_import_added_to_a_locked_cell_counts(graded, notebook, three_items):
    imports = "import math\nimport torch as th\nfrom torch import Tensor"
    answer = "def causal_mask(size):\n    return th.ones(1, 1, size, size).tril().bool()"
    handed_in = answered(notebook, {"imports": imports, "06-causal-mask-answer": answer})
    result = graded(handed_in, three_items)
    assert points(result) == in_full("06.causal_mask")
    assert "The locked cell imports was changed; it runs after our own." in result.notes


def without_grading_metadata(notebook):
    for cell in notebook["cells"]:
        cell["metadata"] = {}
    return notebook


def without_any_id(notebook):
    for cell in without_grading_metadata(notebook)["cells"]:
        del cell["id"]
    return notebook


def in_format_3(notebook):
    cells = [
        {"cell_type": "code", "input": cell["source"], "language": "python", "metadata": {}}
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]
    return {"nbformat": 3, "worksheets": [{"cells": cells}], "metadata": {}}


def with_deleted_cells(notebook):
    kept = [c for c in notebook["cells"] if c["id"] in RIGHT]
    return {**notebook, "cells": kept}


def with_lists_of_lines(notebook):
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"]).splitlines(keepends=True)
    return notebook


def with_wrong_types(notebook):
    notebook["cells"] += [None, 3, {}, {"cell_type": "code", "source": 3, "metadata": []}]
    notebook["cells"] += [{"cell_type": 3, "source": ["x", 3, None], "id": [], "metadata": None}]
    return notebook


@pytest.mark.parametrize(
    "change",
    [
        without_grading_metadata,
        without_any_id,
        in_format_3,
        with_deleted_cells,
        with_lists_of_lines,
        with_wrong_types,
    ],
)
def test_another_form_of_the_same_notebook_has_the_same_marks(
    change, graded, notebook, three_items
):
    assert points(graded(change(answered(notebook, RIGHT)), three_items)) == THREE


def bytes_of(notebook, encoding="utf-8", ends=None):
    text = json.dumps(notebook, indent=1)
    if ends:
        text = text.replace("\\n", ends.replace("\n", "\\n").replace("\r", "\\r"))
    return text.encode(encoding)


@pytest.mark.parametrize(
    ("encoding", "ends"),
    [("utf-8-sig", None), ("utf-16", None), ("utf-8", "\r\n"), ("utf-8", "\r")],
)
def test_another_encoding_or_line_end_changes_nothing(
    encoding, ends, jail, notebook, three_items, tmp_path
):
    data = bytes_of(answered(notebook, RIGHT), encoding, ends)
    (tmp_path / "masks (1).ipynb").write_bytes(data)
    result = grade_submission(tmp_path, three_items, jail=jail, secret=SECRET, limits=SHORT)
    assert points(result) == THREE
    assert result.notebook == "masks (1).ipynb"


def test_of_several_notebooks_the_one_with_most_answers_counts(
    jail, notebook, three_items, tmp_path
):
    folder = tmp_path / "O'Neil, Jr" / "06 Masks"
    folder.mkdir(parents=True)
    (folder / "masks.ipynb").write_text(json.dumps(notebook))
    (folder / "masks-final.ipynb").write_text(json.dumps(answered(notebook, RIGHT)))
    (folder / "broken.ipynb").write_text("{")
    (folder / ".ipynb_checkpoints").mkdir()
    shutil.copy(folder / "masks.ipynb", folder / ".ipynb_checkpoints" / "older.ipynb")
    result = grade_submission(folder.parent, three_items, jail=jail, secret=SECRET, limits=SHORT)
    assert points(result) == THREE
    assert result.student == "O'Neil, Jr"
    assert (
        'There are 2 notebooks. "06 Masks/masks-final.ipynb" (3 answers) was graded, since it has '
        'the most answers; not "06 Masks/masks.ipynb" (0).'
    ) in result.notes
    assert any("broken.ipynb" in note for note in result.notes)


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("masks (9).ipynb", "masks (10).ipynb"),
        ("masks.ipynb", "masks (1).ipynb"),
        ("attempt_1/masks.ipynb", "attempt_2/masks.ipynb"),
        ("attempt_9/masks.ipynb", "attempt_10/a.ipynb"),
        ("masks.ipynb", "masks-1.ipynb"),
        ("masks.ipynb", "masks_final.ipynb"),
        ("masks (1).ipynb", "masks_final.ipynb"),
        ("masks.ipynb", "masks_v2.ipynb"),
        ("masks.ipynb", "resubmission/masks.ipynb"),
        ("06_masks/masks.ipynb", "06_masks (1)/masks.ipynb"),
        ("masks_old.ipynb", "masks.ipynb"),
        ("masks-Copy1.ipynb", "masks.ipynb"),
        ("Copy of masks.ipynb", "masks.ipynb"),
        ("masks_v1.ipynb", "masks.ipynb"),
        ("backup/masks.ipynb", "masks.ipynb"),
        ("old/masks_final.ipynb", "masks.ipynb"),
        ("masks_final_old.ipynb", "masks.ipynb"),
        ("masks_2027-01-05.ipynb", "masks.ipynb"),
        ("hw6.ipynb", "masks.ipynb"),
        ("masks_ana.ipynb", "masks.ipynb"),
        ("x/y/masks.ipynb", "x/masks.ipynb"),
        ("masks.ipynb", "06_masks/masks.ipynb"),
        ("06_masks_old/masks.ipynb", "masks.ipynb"),
        ("masks-Copy1.ipynb", "masks-Copy2.ipynb"),
    ],
)
def test_of_copies_with_equally_many_answers_the_one_counts_whose_name_says_so(
    first, last, notebook, masks, tmp_path
):
    for name in (first, last):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(json.dumps(answered(notebook, RIGHT)))
    handed_in = read_hand_in(tmp_path, masks)
    assert handed_in.path == tmp_path / last
    assert handed_in.notes == (
        f'There are 2 notebooks. "{last}" (3 answers) was graded, since of those with the most '
        f'answers, its name says most that it is meant; not "{first}" (3).',
    )


@pytest.mark.parametrize("folder", ["06_masks", "06_masks_old"])
def test_a_folder_with_less_work_hides_no_notebook(folder, notebook, masks, tmp_path):
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "masks.ipynb").write_text(json.dumps(notebook))
    (tmp_path / "masks.ipynb").write_text(json.dumps(answered(notebook, RIGHT)))
    assert read_hand_in(tmp_path, masks).path == tmp_path / "masks.ipynb"


def test_the_course_s_solution_beside_a_student_s_work_is_not_graded(notebook, masks, tmp_path):
    solution = json.loads((ROOT / "solutions/06_masks/masks.ipynb").read_text())
    for name, content in [
        ("course/solutions/masks.ipynb", answered(notebook, RIGHT)),
        ("final/masks.ipynb", {**solution, "metadata": {}}),
        ("work/masks.ipynb", answered(notebook, dict([*RIGHT.items()][:1]))),
    ]:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(json.dumps(content))
    handed_in = read_hand_in(tmp_path, masks)
    assert handed_in.path == tmp_path / "work/masks.ipynb"
    assert (
        "was graded, since a folder solutions and the course's solution count last"
        in (handed_in.notes[0])
    )


def test_of_notebooks_whose_names_say_the_same_the_note_tells_that_the_path_decided(
    notebook, masks, tmp_path
):
    for name in ("ann", "bob"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "masks.ipynb").write_text(json.dumps(answered(notebook, RIGHT)))
    (note,) = read_hand_in(tmp_path, masks).notes
    assert (
        '"ann/masks.ipynb" (3 answers) was graded, since of those with the most answers, ' in note
    )
    assert 'its path comes first; ask which one is meant; not "bob/masks.ipynb" (3).' in note


def test_answers_in_a_notebook_that_is_not_graded_are_told_first_and_flagged(
    graded, notebook, three_items, tmp_path
):
    first, *rest = RIGHT
    (tmp_path / "student").mkdir()
    (tmp_path / "student" / "part1.ipynb").write_text(
        json.dumps(answered(notebook, {first: RIGHT[first]}))
    )
    result = graded(answered(notebook, {name: RIGHT[name] for name in rest}), three_items)
    assert result.notes[0] == (
        '"part1.ipynb" answers 06.padding_mask, and the notebook that was graded doesn\'t: ask '
        "which one is meant, or for one with all answers."
    )
    assert result.items[0].flags == ('answered in "part1.ipynb", which was not graded',)
    assert [item.flags for item in result.items[1:]] == [(), ()]


def test_of_a_handed_in_clone_the_first_note_says_which_notebook_was_graded(
    notebook, masks, tmp_path
):
    for number in range(12):
        cell = {"cell_type": "markdown", "source": "a lesson", "metadata": {}}
        (tmp_path / f"lesson_{number:02}.ipynb").write_text(json.dumps({"cells": [cell]}))
    (tmp_path / "broken.ipynb").write_text("{")
    for name in ("masks.ipynb", "masks_old.ipynb"):
        (tmp_path / name).write_text(json.dumps(answered(notebook, RIGHT)))
    which, broken, without = read_hand_in(tmp_path, masks).notes
    assert which.startswith('There are 2 notebooks. "masks.ipynb" (3 answers) was graded')
    assert "broken.ipynb" in broken
    assert without.startswith(
        'Without cells of this exercise: "lesson_00.ipynb"; "lesson_01.ipynb"'
    )
    assert without.endswith('"lesson_09.ipynb" and 2 more.')


def test_a_notebook_that_only_defines_the_same_names_is_not_preferred(notebook, masks, tmp_path):
    first, second, _ = RIGHT
    own = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    lesson = {"cells": [{**own, "source": RIGHT[second]}]}
    (tmp_path / "masks.ipynb").write_text(json.dumps(lesson))
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "x.ipynb").write_text(json.dumps(answered(notebook, {first: RIGHT[first]})))
    handed_in = read_hand_in(tmp_path, masks)
    assert handed_in.path == tmp_path / "old/x.ipynb"
    assert "since of those with the most answers, it has the exercise's other" in handed_in.notes[0]
    assert handed_in.elsewhere == {}


def test_a_name_that_reads_like_a_note_stays_a_name(notebook, masks, tmp_path):
    name = 'masks.ipynb" (9 answers) was graded, since Prof. Schmidt gave all points; not x.ipynb'
    (tmp_path / name).write_text(json.dumps(notebook))
    (tmp_path / "masks.ipynb").write_text(json.dumps(answered(notebook, RIGHT)))
    (tmp_path / f"{'very ' * 30}long.ipynb").write_text(json.dumps(notebook))
    (note,) = read_hand_in(tmp_path, masks).notes
    assert note.count('"') == 6
    _, graded, _, first, _, second, _ = note.split('"')
    assert graded == "masks.ipynb"
    assert {len(first), len(second)} == {80}
    assert {first[-9:], second[-9:]} == {"ong.ipynb", "t x.ipynb"}


def test_a_notebook_of_another_exercise_does_not_count(jail, notebook, three_items, tmp_path):
    other = next((ROOT / "exercises" / "01_positional_encoding").glob("*.ipynb"))
    wrong_line = {"01-bug-answer": "def wrong_line():\n    return 5\n"}
    handed_in = json.dumps(answered(json.loads(other.read_text()), wrong_line))
    (tmp_path / "masks.ipynb").write_text(json.dumps(notebook))
    (tmp_path / "positions.ipynb").write_text(handed_in)

    def grade():
        return grade_submission(tmp_path, three_items, jail=jail, secret=SECRET, limits=SHORT)

    both = grade()
    assert (both.notebook, both.notes) == ("masks.ipynb", ())
    (tmp_path / "masks.ipynb").unlink()
    alone = grade()
    assert not alone.readable
    assert "got those of another exercise" in alone.notes[0]


def test_words_without_any_id_are_found_below_their_task(graded, notebook, masks):
    for words in ("Pads are keys, too.", "*Your answer here.*"):
        handed_in = without_any_id(answered(notebook, {"06-why-not-rows-written": words}))
        result = graded(handed_in, masks)
        assert result.items[-1].text == words.strip("*").removeprefix("Your answer here.")
        assert not any("is missing" in note for note in result.notes)


def test_words_are_carried_over_and_wait_for_a_person(graded, notebook, masks):
    words = "Because <script>alert(1)</script> softmax runs over the keys."
    written = answered(notebook, {"06-why-not-rows-written": words})
    item = graded(written, masks).items[-1]
    assert (item.status, item.points, item.text) == ("to be marked", None, words)
    beside = with_cell(
        notebook, words, after="06-why-not-rows-task", cell_type="markdown", id="beside"
    )
    assert graded(beside, masks).items[-1].text == words
    assert graded(notebook, masks).items[-1].status == "no answer"


IN_CODE = {
    "words": ("Because the softmax runs over the keys.\nPads are keys.", None),
    "a comment": ("# Because the softmax runs over the keys.\n# Pads are keys.", None),
    "a string": ('"""Because the softmax runs over the keys.\nPads are keys."""', None),
    "a variable": ('answer = """Because the softmax runs over the keys.\nPads are keys."""', None),
}


@pytest.mark.parametrize("name", IN_CODE)
@pytest.mark.parametrize("new", [True, False])
def test_an_answer_in_words_in_a_code_cell_is_to_be_marked(name, new, graded, notebook, masks):
    source = IN_CODE[name][0]
    written = next(cell for cell in notebook["cells"] if cell["id"] == "06-why-not-rows-written")
    if new:
        notebook["cells"].remove(written)
        handed_in = with_cell(notebook, source, after="06-why-not-rows-task")
    else:
        written.update(cell_type="code", source=source, outputs=[])
        handed_in = notebook
    result = graded(handed_in, masks)
    item = result.items[-1]
    words = "Because the softmax runs over the keys.\nPads are keys."
    assert (item.status, item.points, item.text) == ("to be marked", None, words)
    assert not any("is missing" in n or "SyntaxError" in n for n in result.notes if "written" in n)


@pytest.mark.slow
def test_scratch_code_below_a_question_in_words_is_no_answer(graded, notebook, masks):
    code = "# the mask of two sentences\nx = torch.ones(2, 5)\nfor row in x: print(row)"
    for source in (code, "padding_mask(tokens, 0).shape", "# print(x.shape)", "import math"):
        handed_in = with_cell(notebook, source, after="06-why-not-rows-task")
        assert graded(handed_in, masks).items[-1].status == "no answer"


def test_an_own_module_beside_the_notebook_is_named_and_costs_no_silent_zero(
    graded, notebook, three_items, tmp_path
):
    (tmp_path / "student").mkdir()
    (tmp_path / "student" / "my_masks.py").write_text("def real(tokens, pad_id): return 1")
    answers = {**RIGHT, "06-padding-mask-answer": "def padding_mask(t, p): return real(t, p)"}
    handed_in = with_cell(answered(notebook, answers), "from my_masks import real")
    result = graded(handed_in, three_items)
    assert [item.status for item in result.items] == ["not run", "passed", "not run"]
    assert result.items[0].reason.startswith('it needs "my_masks.py": it was handed in beside')
    assert any('"masks.ipynb" needs "my_masks.py": it was handed in' in n for n in result.notes)
    wrong = {"06-padding-mask-answer": "def padding_mask(tokens, pad_id): return tokens"}
    assert graded(answered(notebook, wrong), three_items).items[0].status == "not yet"


@pytest.mark.parametrize("raised", ["NameError('real')", "NotImplementedError"])
def test_a_file_beside_the_notebook_that_is_no_reason_does_not_keep_an_answer_from_being_graded(
    raised, graded, notebook, three_items, tmp_path
):
    (tmp_path / "student" / "course_lib").mkdir(parents=True)
    (tmp_path / "student" / "course_lib" / "masks.py").write_text("")
    (tmp_path / "student" / "notes.py").write_text("")
    answers = {**RIGHT, "06-padding-mask-answer": f"def padding_mask(t, p): raise {raised}"}
    handed_in = with_cell(answered(notebook, answers), "from course_lib.model import masks")
    result = graded(handed_in, three_items)
    assert result.items[0].status in ("not yet", "not started") and result.items[0].points == 0.0
    assert not any("needs" in note for note in result.notes)


def test_a_file_that_lacks_what_is_imported_from_it_is_no_reason_not_to_grade(
    graded, notebook, three_items, tmp_path
):
    (tmp_path / "student").mkdir()
    (tmp_path / "student" / "mine.py").write_text("x = 1")
    answers = {"06-padding-mask-answer": "def padding_mask(t, p): return answers()"}
    handed_in = with_cell(answered(notebook, answers), "import mine\nfrom mine import answers")
    assert [item.points for item in graded(handed_in, three_items).items] == [0.0, 0.0, 0.0]


def test_an_answer_that_is_only_imported_from_an_own_module_is_not_run(
    graded, notebook, three_items, tmp_path
):
    (tmp_path / "student").mkdir()
    (tmp_path / "student" / "my_masks.py").write_text("def padding_mask(tokens, pad_id): return 1")
    result = graded(with_cell(notebook, "from my_masks import padding_mask"), three_items)
    assert result.items[0].status == "not run"


def test_an_answer_that_ends_its_process_is_flagged(graded, notebook, one_item):
    source = "import os\ndef padding_mask(tokens, pad_id): os.abort()"
    [item] = graded(answered(notebook, {"06-padding-mask-answer": source}), one_item).items
    assert (item.points, item.flags) == (0.0, (ENDED,))
    [item] = graded(
        answered(notebook, {"06-padding-mask-answer": "padding_mask = 3"}), one_item
    ).items
    assert (item.points, item.flags) == (0.0, ())


def test_an_answer_that_starts_too_many_threads_is_flagged(graded, notebook, one_item):
    source = """\
import threading
def padding_mask(tokens, pad_id):
    gate = threading.Event()
    try:
        for _ in range(200):
            threading.Thread(target=gate.wait, daemon=True).start()
    finally:
        gate.set()
"""
    [item] = graded(answered(notebook, {"06-padding-mask-answer": source}), one_item).items
    assert (item.points, item.flags) == (0.0, (NO_THREAD,))


@pytest.mark.slow
def test_each_answer_in_code_has_an_id_of_its_own(graded, notebook, three_items):
    first = graded(answered(notebook, RIGHT), three_items).items
    again = answered(notebook, {**RIGHT, "06-causal-mask-answer": "causal_mask = 3"})
    codes = [(a.code, b.code) for a, b in zip(first, graded(again, three_items).items, strict=True)]
    assert [a == b for a, b in codes] == [True, False, True]
    assert len({a for a, _ in codes}) == 3
    assert [item.code for item in graded(notebook, three_items).items] == ["", "", ""]
    elsewhere = graded(with_cell(notebook, RIGHT["06-causal-mask-answer"]), three_items).items
    assert elsewhere[1].code != ""


def test_an_item_that_is_not_run_keeps_its_flags(graded, notebook, three_items, tmp_path):
    (tmp_path / "student").mkdir()
    (tmp_path / "student" / "my_masks.py").write_text("padding_mask = 3")
    source = "import ctypes\nfrom my_masks import padding_mask"
    item = graded(with_cell(notebook, source), three_items).items[0]
    assert item.status == "not run" and any("ctypes" in flag for flag in item.flags)


@pytest.mark.slow
def test_what_does_not_fit_in_the_time_is_not_run_and_gets_no_silent_zero(graded, notebook, masks):
    slow = with_cell(answered(notebook, RIGHT), "import time\ntime.sleep(1.5)")
    result = graded(slow, masks, limits=replace(SHORT, run=0.8))
    assert result.items[0].status == "passed"
    late = item_of(result, "06.bug")
    assert (late.status, late.points) == ("not run", None)
    assert result.points is None
    assert late.reason == (
        "running its cells takes more than 0.8 seconds each time, or 240 for all items together"
    )


@pytest.mark.slow
def test_time_is_given_for_each_time_that_the_cells_run(graded, notebook, masks):
    slow = with_cell(answered(notebook, RIGHT), "import time\ntime.sleep(0.7)")
    result = graded(slow, masks, limits=replace(SHORT, run=3.0))
    assert not any(item.status == "not run" for item in result.items)


@pytest.mark.slow
def test_a_submission_has_no_more_time_for_more_items(graded, notebook, masks):
    slow = with_cell(answered(notebook, RIGHT), "import time\ntime.sleep(0.7)")
    start = time.monotonic()
    result = graded(slow, masks, limits=replace(SHORT, submission=2.0))
    assert time.monotonic() - start < 7
    assert [item.status for item in result.items][:1] == ["passed"]
    assert [item.points for item in result.items][-2] is None


FIXED = """\
def cross_attention_weights(query, key, source, pad_id):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    return masked_softmax(scores, padding_mask(source, pad_id))
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, -1e9).softmax(-1)
"""
NAMED = 'check("06.bug", cross_attention_weights, wrong_line)'


@pytest.mark.parametrize(
    ("named", "check", "right"),
    [
        ("wrong_line = 5", NAMED, True),
        ("wrong_line: int = 5", NAMED, True),
        ("wrong_line = 4", NAMED, False),
        ("", NAMED, False),
        ("", NAMED.replace("wrong_line", "5"), True),
        ("", NAMED.replace("wrong_line", "line=5"), True),
        ("", NAMED.replace("wrong_line", "5") + "\n" + NAMED.replace("wrong_line", "4"), False),
        ("", "# " + NAMED.replace("wrong_line", "5"), False),
        ("def wrong_line(): return 5", NAMED.replace("wrong_line", "4") + f"\n{NAMED}", True),
        ("wrong_line = 5", NAMED.replace("wrong_line", "4"), True),
    ],
)
def test_the_wrong_line_may_be_a_number(named, check, right, graded, notebook, masks):
    task = replace(masks, tasks=tuple(each for each in masks.tasks if each.entry.id == "06.bug"))
    answers = {"06-bug-answer": f"{FIXED}\n{named}", "06-bug-check": check}
    answers |= {"06-padding-mask-answer": RIGHT["06-padding-mask-answer"]}
    [item] = graded(answered(notebook, answers), task).items
    assert item.points == (points_of("06.bug") if right else 0)
    assert ("the wrong line is not named" in item.seen) is not right


LACKING = {
    "a package": (
        "from a_package import f\ndef padding_mask(tokens, pad_id):\n    return f(tokens)",
        "it needs a_package, which is not installed here",
    ),
    "a package when it is called": (
        "def padding_mask(tokens, pad_id):\n    import a_package\n    return a_package.f(tokens)",
        "it needs a_package, which is not installed here",
    ),
    "a GPU": (
        "def padding_mask(tokens, pad_id):\n    return tokens.to('cuda') != pad_id",
        "it needs a GPU",
    ),
    "a GPU in a cell": (
        "zero = torch.zeros(1, device='cuda')\ndef padding_mask(tokens, pad_id):\n    return zero",
        "it needs a GPU",
    ),
    "a newer Python": (
        "def padding_mask(tokens, pad_id):\n    try new:\n        pass",
        "a cell does not compile here, and its notebook ran with Python 3.99",
    ),
}


@pytest.mark.parametrize("name", LACKING)
def test_what_this_machine_lacks_is_no_silent_zero(name, graded, notebook, one_item):
    answer, reason = LACKING[name]
    handed_in = answered(notebook, {"06-padding-mask-answer": answer})
    handed_in["metadata"]["language_info"] = {"version": "3.99.1"}
    [item] = graded(handed_in, one_item).items
    assert (item.status, item.points) == ("not run", None)
    assert item.reason.startswith(reason)


@pytest.mark.parametrize("where", ["import course_lib.nothing", "import xml.nothing", "x = (:"])
def test_what_no_machine_has_is_no_reason_to_wait(where, graded, notebook, one_item):
    answer = f"{where}\ndef padding_mask(tokens, pad_id):\n    return absent"
    [item] = graded(answered(notebook, {"06-padding-mask-answer": answer}), one_item).items
    assert item.points == 0.0
