"""The exercise as released, a learner's cells in it, and what is flagged; nothing runs here."""

import ast
import json
import re
import time
from dataclasses import replace

import pytest

from course_lib.errors import CourseError
from course_lib.grading.jail.inside.cell_source import Shell, definitions_of, without_magics
from course_lib.grading.submissions import flags
from course_lib.grading.submissions import transplant as transplant_module
from course_lib.grading.submissions.exercise import defined_names, load_exercise
from course_lib.grading.submissions.flags import find_flags
from course_lib.grading.submissions.magics import without_commands
from course_lib.grading.submissions.submission import (
    Cell,
    Submission,
    SubmissionError,
    read_submission,
)
from course_lib.grading.submissions.transplant import CodeCell, transplant
from tests.grading.notebooks_to_hand_in import RIGHT, ROOT, answered, with_cell


def submitted(*cells):
    return Submission(name="x.ipynb", cells=cells, sha256="hash")


ANSWER = Cell("code", "def padding_mask(t, p): ...", grade_id="06-padding-mask-answer")


def test_our_cells_come_first_and_the_learners_follow_in_their_order(masks):
    helper = Cell("code", "x = 1")
    made = transplant(submitted(helper, ANSWER), masks)
    ours = [cell.name for cell in made.cells if cell.ours]
    assert ours[:3] == ["set-up", "imports", "06-padding-mask-answer"]
    assert not any(name.endswith("check") for name in ours)
    theirs = [(cell.name, cell.source, cell.item) for cell in made.cells if not cell.ours]
    assert theirs == [
        ("1", "x = 1", ""),
        ("06-padding-mask-answer", ANSWER.source, "06.padding_mask"),
    ]
    assert made.answered == {"06.padding_mask"}


def test_a_cell_is_found_by_grade_id_then_id_then_what_it_defines(masks):
    source = "def padding_mask(t, p): return 1"
    for cell in (
        Cell("code", source, id="06-causal-mask-answer", grade_id="06-padding-mask-answer"),
        Cell("code", source, id="06-padding-mask-answer"),
        Cell("code", source, id="other", grade_id="other"),
    ):
        assert transplant(submitted(cell), masks).answered == {"06.padding_mask"}


def test_missing_cells_are_noted(masks):
    notes = transplant(submitted(ANSWER), masks).notes
    assert "The cell 06-causal-mask-answer is missing; it counts as unanswered." in notes
    assert not any("06-padding-mask-answer" in note for note in notes)


def test_an_answer_that_stands_in_another_cell_is_not_missing(masks):
    for source in ("import math\ndef causal_mask(size): ...", "from mine import causal_mask"):
        notes = transplant(submitted(ANSWER, Cell("code", source, id="imports")), masks).notes
        assert not any("06-causal-mask-answer" in note for note in notes)


STUB = 'def padding_mask(tokens: Tensor, pad_id: int) -> Tensor:\n    """True for real tokens."""\n'
STUB += "    raise NotImplementedError  # your code here\n"
WRITTEN = "return tokens != pad_id"


@pytest.mark.parametrize(
    ("source", "is_answered"),
    [
        (STUB, False),
        (STUB + "# TODO", False),
        (STUB.replace("tokens: Tensor", "sequences: Tensor").replace("True", "False"), False),
        (STUB.replace("pad_id: int", "pad_id: dict[str, int]"), False),
        (STUB.replace("raise NotImplementedError", WRITTEN), True),
        (STUB.replace("raise NotImplementedError", "if pad_id: raise NotImplementedError()"), True),
        (STUB + "\n" + STUB.replace("raise NotImplementedError", WRITTEN), True),
        (STUB + "\npadding_mask = lambda tokens, pad_id: tokens != pad_id", True),
        ("padding_mask = torch.ne", True),
    ],
)
def test_only_what_is_more_than_the_released_stub_is_an_answer(source, is_answered, masks):
    cell = Cell("code", source, id="06-padding-mask-answer")
    assert bool(transplant(submitted(cell), masks).answered) is is_answered


@pytest.mark.parametrize("where", ["imports", "06-padding-mask-answer", "06-bug-check", ""])
def test_an_answer_counts_wherever_it_stands(where, masks):
    both = "\n".join([*RIGHT.values()][:2])
    cells = [Cell("code", both, id=where), Cell("code", "x = 1", id="06-bug-check")]
    made = transplant(submitted(*cells), masks)
    assert made.answered == {"06.padding_mask", "06.causal_mask"}
    assert not transplant(submitted(Cell("code", STUB, id=where), cells[1]), masks).answered


def test_a_stub_beside_a_function_that_is_given_is_no_answer(masks):
    cells = {cell.id: cell.source for cell in masks.cells}
    source = cells["06-bug-answer"].replace("source: Tensor", "sequence: Tensor")
    other = Cell("code", source, id="06-bug-answer")
    assert not transplant(submitted(other), masks).answered


def test_an_own_check_of_something_else_is_named_and_says_nothing_about_the_answer(masks):
    check = Cell("code", 'x = 1\ncheck( "06.padding_mask", padding_mask_v2 )')
    made = transplant(submitted(ANSWER, Cell("code", "padding_mask = 3"), check), masks)
    ours = sum(cell.ours for cell in made.cells)
    assert made.checked == {"06.padding_mask": ours + 1}
    note = "A check of 06.padding_mask is of `padding_mask_v2`, and only `padding_mask` is graded."
    assert note in made.notes


@pytest.mark.parametrize("assignment", ["01_positional_encoding", "06_masks"])
def test_the_lesson_handed_in_is_no_answer_to_its_exercise(assignment):
    exercise = load_exercise(ROOT / "exercises", assignment)
    lesson = read_submission(ROOT / "notebooks" / f"{assignment}.ipynb")
    with pytest.raises(SubmissionError, match="this is the lesson, not the exercise"):
        transplant(lesson, exercise)


def test_an_answer_in_the_lesson_counts_and_so_does_a_cell_of_the_lesson_in_the_exercise(masks):
    lesson = read_submission(ROOT / "notebooks/06_masks.ipynb")
    made = transplant(replace(lesson, cells=(*lesson.cells, ANSWER)), masks)
    assert made.answered == {"06.padding_mask"}
    assert made.notes[0].startswith("This is the lesson, not the exercise")
    theirs = [cell for cell in lesson.cells if "def causal_mask" in cell.source]
    assert transplant(submitted(ANSWER, *theirs), masks).answered == {
        *("06.padding_mask", "06.causal_mask")
    }


def test_words_are_looked_for_in_so_many_characters_of_a_notebook(masks, monkeypatch):
    looked_at = []
    monkeypatch.setattr(
        transplant_module, "words_in", lambda source: looked_at.append(source) or ("", True)
    )
    asked = Cell("text", "Words.", id="06-why-not-rows-task")
    many = [Cell("code", f"x = {'1' * 19_990}", id=f"{n}") for n in range(30)]
    transplant(submitted(asked, *many), masks)
    assert sum(map(len, looked_at)) <= 220_000


def test_a_copy_of_the_stub_at_the_end_does_not_move_where_an_answer_stands(masks):
    stub = next(cell.source for cell in masks.cells if cell.id == "06-padding-mask-answer")
    cells = [Cell("code", RIGHT["06-padding-mask-answer"]), Cell("code", stub + "  # again")]
    made = transplant(submitted(*cells), masks)
    assert made.checked == {"06.padding_mask": sum(cell.ours for cell in made.cells) + 1}


def test_another_notebook_is_no_silent_zero(masks):
    with pytest.raises(SubmissionError, match="another exercise: was the wrong notebook handed in"):
        transplant(submitted(Cell("code", "x = 1", id="07-bug-answer")), masks)


def test_an_answer_that_became_text_is_not_run(masks):
    cell = Cell("text", "def padding_mask(t, p): ...", grade_id="06-padding-mask-answer")
    made = transplant(submitted(cell, ANSWER), masks)
    assert [c.source for c in made.cells if not c.ours] == [ANSWER.source]


def answers_and_notes(masks, *cells):
    """The answer to 06.why_not_rows in these cells, (id, text) with "" for a new one, and notes."""
    released = {cell.id: cell.source for cell in masks.cells}
    made = [Cell("text", text.replace("RELEASED", released.get(i, "")), id=i) for i, text in cells]
    transplanted = transplant(submitted(ANSWER, *made), masks)
    return transplanted.written.get("06.why_not_rows"), transplanted.notes


QUESTION, WORDS = "06-why-not-rows-task", "06-why-not-rows-written"
TASK, UNTOUCHED = (QUESTION, "RELEASED"), (WORDS, "RELEASED")


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        ([TASK, UNTOUCHED], None),
        ([TASK, (WORDS, "One."), ("", "Two.")], "One.\n\nTwo."),
        ([TASK, ("", "One."), (WORDS, "Two.")], "One.\n\nTwo."),
        ([TASK, (WORDS, "One."), (WORDS, "Two.")], "One.\n\nTwo."),
        ([TASK, (WORDS, "One."), (WORDS, "One.")], "One."),
        ([(QUESTION, "RELEASED\n\nOne."), UNTOUCHED], "One."),
        ([(QUESTION, "RELEASED\n\nOne."), (WORDS, "Two.")], "Two."),
    ],
)
def test_all_that_answers_a_question_in_words_counts(cells, text, masks):
    assert answers_and_notes(masks, *cells)[0] == text


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        ([("", "Above."), TASK, UNTOUCHED], "does not count .* (cell 2): Above."),
        ([TASK, UNTOUCHED, ("next", "RELEASED Below.")], "does not count .* Below."),
        ([TASK, UNTOUCHED, ("next", "RELEASED"), ("", "At the end.")], ".* At the end."),
        ([(QUESTION, "RELEASED\n\nOne."), UNTOUCHED], "was changed; it counts as the answer"),
        (
            [(QUESTION, "RELEASED\n\nOne."), (WORDS, "Two.")],
            "it does not count as part",
        ),
    ],
)
def test_text_that_may_belong_to_an_answer_in_words_is_pointed_out(cells, note, masks):
    pattern = note.replace("(", r"\(").replace(")", r"\)")
    assert sum(bool(re.search(pattern, each)) for each in answers_and_notes(masks, *cells)[1]) == 1


def test_text_far_from_any_question_in_words_is_nobody_s_business(masks):
    notes = answers_and_notes(masks, ("", "My thoughts."), ("", "x"), ("", "y"), TASK, UNTOUCHED)[1]
    assert not any("My thoughts." in note for note in notes)
    assert not any("Text near" in note for note in answers_and_notes(masks, TASK, UNTOUCHED)[1])


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f(): pass\nasync def g(): pass\nclass C: pass", {"f", "g", "C"}),
        ("x = 1\ny: int = 2\nz == 3\n  w = 4", {"x", "y"}),
        ("def broken(:", {"broken"}),
        ("undefined", set()),
    ],
)
def test_what_a_cell_defines_is_found_even_if_it_is_no_python(source, names):
    assert defined_names(source) == names


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("x = 3 % 2", "x = 3 % 2"),
        ("%time f()\nx = 3", "get_ipython().run_line_magic('time', 'f()')\nx = 3\n"),
        ("if True:\n    !ls\n", "if True:\n    get_ipython().system('ls')\n"),
        ("x = !ls", "x = get_ipython().getoutput('ls')\n"),
        ("x = (7\n  % 3)\n!a", "x = (7\n  % 3)\nget_ipython().system('a')\n"),
        ("!pip \\\n    x\ny = 1", "get_ipython().system('pip      x')\ny = 1\n"),
        ("%%time\nx = 3", "pass\nx = 3"),
        ("\n%%time\n?x", "pass\nget_ipython().run_line_magic('pinfo', 'x')\n"),
        ("    x = 3\n    y = 4", "x = 3\ny = 4\n"),
        ("def broken(:", "def broken(:\n"),
    ],
)
def test_commands_of_ipython_are_translated(source, plain):
    assert without_magics(source).rstrip() == plain.rstrip()
    assert Shell().run_line_magic("time", "f()") is None


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("x = 3 % 2", "x = 3 % 2"),
        ("  \n%%time\nx = 3", "  \npass\nx = 3"),
        ("%%capture out\n%%time\nx = 3", "pass\n%%time\nx = 3"),
        ("%%time", "pass\n"),
        ("%%bash\nx = 3", "pass\n"),
        ("if a:\n    %time  x, y = f(3)\nz = %time g()", "if a:\n    x, y = f(3)\nz = g()"),
        ("%timeit f()\n%time\nx %time", "%timeit f()\n%time\nx %time"),
        ("%%writefile a.py\n%time x", "open('a.py', 'w').write('%time x')"),
        ("\n%%file -a 'a.py'", "\nopen('a.py', 'a').write('')"),
        ("try:\n    from IPython import get_ipython", "try:\n    pass"),
    ],
)
def test_commands_that_would_hide_a_definition_are_python(source, plain):
    assert without_commands(source) == plain


@pytest.mark.parametrize("text", [" ", "%%a", "% ", "a.", "a=", "a ", " \n", "\n"])
def test_looking_for_commands_takes_no_longer_than_reading(text):
    start = time.process_time()
    without_commands(text * 250_000 + "\n%time")
    assert time.process_time() - start < 2.0  # and not hours


def test_the_definitions_of_a_cell_can_be_run_alone():
    source = "import math\nx = 1\ny = f(2)\ndef f(): return x\nf()\nclass C: pass\nwhile True: pass"
    source += "\ng = lambda x: f(x)"
    kept = [ast.unparse(node) for node in definitions_of(source)]
    assert [text.split()[0] for text in kept] == ["import", "x", "def", "class", "g"]
    below = [ast.unparse(node) for node in definitions_of(source, after=4)]
    assert below == kept[3:]
    assert definitions_of("def broken(:") == []


@pytest.mark.parametrize(
    ("item", "source", "flags"),
    [
        ("06.bug", "import ctypes", ["unusual in this course: ctypes"]),
        ("06.bug", "from course_lib.grading.jail import inside", ["unusual"]),
        ("06.bug", "import course_lib.checks.engine.call as call", ["unusual"]),
        ("06.bug", "from course_lib.checks import check", []),
        ("06.bug", "from os import _exit", ["unusual in this course: _exit"]),
        ("06.bug", "x = eval('1')", ["unusual in this course: eval"]),
        ("06.bug", "model.eval(); re.compile(x)  # ctypes", []),
        ("06.bug", "x = '#'; import ctypes", ["unusual in this course: ctypes"]),
        ("06.bug", "import ｇｃ", ["unusual in this course: gc"]),
        ("06.bug", "a.gc.b; y.os.system; gcd", ["unusual in this course: gc"]),
        ("06.bug", "f.__code__ = g.__code__", ["unusual in this course: __code__"]),
        ("03.layer_norm", "y = nn.LayerNorm(3)(x)", ["ready-made for this item: LayerNorm"]),
        ("03.layer_norm", "from torch.nn.functional import layer_norm", ["ready-made"]),
        ("03.layer_norm", "from torch import (  # or )\n    layer_norm as y,\n)", ["ready-made"]),
        ("03.layer_norm", "from torch \\\n    import layer_norm", ["ready-made"]),
        ("03.layer_norm", "y = torch. \\\n  layer_norm", ["ready-made"]),
        ("03.layer_norm", "def f(self, x):\n    return self.layer_norm(x)", ["ready-made"]),
        ("03.layer_norm", "class A:\n    def f(self, x):\n        return self.layer_norm(x)", []),
        ("03.layer_norm", 'check("03.layer_norm", layer_norm)', []),
        ("03.add_norm", "y = nn.LayerNorm(3)(x)", []),
        ("04.scaled_dot_product_attention", "F.scaled_dot_product_attention(q)", ["ready-made"]),
    ],
)
def test_flags_name_what_is_unusual_or_ready_made(item, source, flags):
    ours = CodeCell("imports", "import ctypes, gc", ours=True)
    found = find_flags(item, [CodeCell("answer", source, item=item), ours])
    assert len(found) == len(flags)
    for one, expected in zip(found, flags, strict=True):
        assert one.startswith(expected)


@pytest.mark.parametrize(
    ("source", "flagged"),
    [
        ("from torch.nn.functional import layer_norm as ready", True),
        ("def ready(*args):\n    return F.layer_norm(*args)", True),
        (
            "class AddNorm(nn.Module):\n    def __init__(self):\n        self.n = nn.LayerNorm(3)",
            False,
        ),
    ],
)
def test_what_is_taken_in_the_answer_to_another_item_is_flagged_if_this_one_may_use_it(
    source, flagged
):
    found = find_flags("03.layer_norm", [CodeCell("other", source, item="03.add_norm")])
    assert bool(found) is flagged


def test_a_solution_has_no_flags():
    for solution in (ROOT / "solutions").glob("*/*.ipynb"):
        exercise = load_exercise(ROOT / "exercises", solution.parent.name)
        cells = transplant(read_submission(solution), exercise).cells
        for task in exercise.tasks:
            assert find_flags(task.entry.id, cells) == ()


def test_released_lines_in_a_cell_of_ones_own_are_not_flagged(masks):
    set_up = next(cell.source for cell in masks.cells if cell.id == "set-up")
    merged = set_up.replace("    ", "\t").replace('"', "'") + "\nimport gc"
    cells = transplant(submitted(Cell("code", merged), ANSWER), masks).cells
    line = merged.count("\n") + 1
    assert find_flags("06.bug", cells) == (f"unusual in this course: gc (cell 1, line {line})",)


@pytest.mark.parametrize("name", ["06_mask", "6", "06", "masks", "06_maks"])
def test_an_unknown_assignment_is_answered_with_those_that_exist_and_the_one_that_was_meant(name):
    words = "the assignments in .* are 01_positional_encoding, 02.* did you mean 06_masks?"
    with pytest.raises(CourseError, match=words):
        load_exercise(ROOT / "exercises", name)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda cell: cell.pop("id"), "expected an exercise with nbgrader's metadata"),
        (lambda cell: cell.update(metadata=[]), "expected an exercise with nbgrader's metadata"),
        (lambda cell: cell.update(source="check(3)"), "expected a cell 06-padding-mask-check"),
    ],
)
def test_a_released_exercise_in_another_format_is_refused(change, words, notebook, tmp_path):
    change(next(cell for cell in notebook["cells"] if cell["id"] == "06-padding-mask-check"))
    (tmp_path / "06_masks").mkdir()
    (tmp_path / "06_masks" / "x.ipynb").write_text(json.dumps(notebook))
    with pytest.raises(CourseError, match=words):
        load_exercise(tmp_path, "06_masks")


@pytest.mark.parametrize(
    "text",
    [
        *("1" * 1_000_000, "é" * 1_000_000, "1." * 500_000, "import (\n" * 60_000),
        *("from a import layer_norm(" * 20_000, "self.layer_norm\n" * 30_000, "\\\n" * 200_000),
    ],
)
def test_looking_for_flags_takes_no_longer_than_reading(text):
    start = time.process_time()
    assert find_flags("03.layer_norm", [CodeCell("answer", f"import gc\n{text}")])
    assert time.process_time() - start < 20.0  # and not hours


def test_what_is_ready_made_comes_first_and_no_name_crowds_it_out():
    cells = [CodeCell("cell 1", "import sys\n" * 20 + "import gc, ctypes")]
    cells += [CodeCell(f"cell {n}", "sys.exit()") for n in range(2, 20)]
    cells.append(CodeCell("answer", "y = F.layer_norm(x)\nimport socket", item="03.layer_norm"))
    found = find_flags("03.layer_norm", cells)
    assert found[0] == "ready-made for this item: layer_norm (cell answer, line 1)"
    unusual = [("sys", "cell 1", 1), ("gc", "cell 1", 21), ("ctypes", "cell 1", 21)]
    assert found[1:] == tuple(
        f"unusual in this course: {name} (cell {cell}, line {line})"
        for name, cell, line in [*unusual, ("socket", "answer", 2)]
    )


def test_what_is_unusual_is_flagged_at_one_item(graded, notebook, three_items):
    answers = {name: f"import gc\n{source}" for name, source in RIGHT.items()}
    handed_in = with_cell(answered(notebook, answers), "import ctypes")
    flags = [item.flags for item in graded(handed_in, three_items).items]
    assert [len(each) for each in flags] == [2, 1, 1]
    assert "ctypes" in flags[0][0]
    assert "06-causal-mask-answer" in flags[1][0]


@pytest.mark.parametrize(("name", "flagged", "lines"), [("gc", 2, 1000), ("xy", 1, 1000)])
def test_a_cell_of_many_megabytes_is_not_looked_at_whole(monkeypatch, name, flagged, lines):
    looked_at = []

    def look(text, original=flags._unusual):
        looked_at.append(text)
        return original(text)

    monkeypatch.setattr(flags, "_unusual", look)
    monkeypatch.setattr(flags, "_MOST_CHARACTERS", 3_000)
    found = find_flags("03.layer_norm", [CodeCell("answer", f"{name}\n" * 1_000_000)])
    assert found[0] == "more than 3,000 characters of code: nothing was looked for in the rest"
    assert len(found) == flagged
    assert len(looked_at) == lines
