"""The draw: the same for the same submission, different for others, and about what is one's own."""

from collections import Counter
from dataclasses import replace

import pytest

from course_lib.checks.table import TABLE
from course_lib.grading.oral.candidates import HandedIn, Question, candidates
from course_lib.grading.oral.draw_questions import QUESTIONS, draw_questions
from course_lib.grading.oral.own_answer import own_answers
from course_lib.grading.oral.question_bank import load_bank
from course_lib.grading.results import PropertyResult
from course_lib.grading.submissions.submission import Cell, Submission
from course_lib.grading.submissions.transplant import transplant
from tests.grading.made_results import item_result
from tests.grading.notebooks_to_hand_in import RIGHT


def question(item="06.causal_mask", kind="line", asks="?"):
    return Question(item=item, kind=kind, asks=asks, expects=("a", "b"), then="")


EVERYTHING = [
    question(item, kind, f"{item} {kind} {n}")
    for item in ("06.padding_mask", "06.causal_mask", "06.masked_softmax")
    for kind in ("line", "misconception")
    for n in range(3)
]


def submission(answers):
    cells = [
        Cell("text" if cell_id.endswith("written") else "code", source, id=cell_id)
        for cell_id, source in answers.items()
    ]
    return Submission(name="masks.ipynb", cells=tuple(cells), sha256="")


def handed_in(masks, answers, **fields):
    made = transplant(submission(answers), masks)
    answers = own_answers(made, masks)
    return HandedIn(answers=answers, written=made.written, **{"results": {}, **fields})


def asked(masks, answers, **fields):
    return candidates(handed_in(masks, answers, **fields), load_bank("06_masks"))


# The draw


def test_two_questions_about_different_items_and_of_different_kinds():
    for key in map(str, range(50)):
        first, second = draw_questions(EVERYTHING, key)
        assert first.item != second.item and first.kind != second.kind


def test_the_same_key_draws_the_same_and_another_key_others():
    assert draw_questions(EVERYTHING, "a") == draw_questions(EVERYTHING, "a")
    drawn = {tuple(q.asks for q in draw_questions(EVERYTHING, str(key))) for key in range(50)}
    assert len(drawn) > 25


def test_of_one_item_the_two_differ_in_kind_and_of_one_kind_in_their_item():
    one_item = [question(kind=kind, asks=str(n)) for kind in ("line", "failed") for n in range(3)]
    one_kind = [question(item, asks=str(n)) for item in ("06.bug", "06.causal_mask") for n in "ab"]
    for key in map(str, range(20)):
        assert {q.kind for q in draw_questions(one_item, key)} == {"line", "failed"}
        assert {q.item for q in draw_questions(one_kind, key)} == {"06.bug", "06.causal_mask"}


def test_of_few_questions_all_are_drawn_and_of_none_none():
    assert draw_questions([], "k") == []
    assert draw_questions([question()], "k") == [question()]
    assert len(draw_questions([question(), question()], "k")) == QUESTIONS


def test_items_with_more_points_come_first_more_often_however_many_questions_others_have():
    many = [question("06.causal_mask", asks=str(n)) for n in range(20)]
    found = [*many, question("06.masked_softmax")]
    first = Counter(draw_questions(found, str(key))[0].item for key in range(400))
    share = first["06.masked_softmax"] / 400
    points = [TABLE[item].points for item in ("06.masked_softmax", "06.causal_mask")]
    assert share == pytest.approx(points[0] / sum(points), abs=0.1)


def test_what_failed_is_asked_more_often_than_what_others_get_wrong():
    found = [question("06.bug", "failed"), question("06.bug", "misconception")]
    first = Counter(draw_questions(found, str(key))[0].kind for key in range(200))
    assert first["failed"] > 140


# What may be asked


def test_a_line_that_fits_is_quoted_with_its_number_and_shown_with_its_neighbours(masks):
    source = RIGHT["06-causal-mask-answer"]
    found = asked(masks, {"06-causal-mask-answer": f"import math\n\n{source}"})
    [line] = [q for q in found if q.kind == "line"]
    assert line.asks.startswith("Your line 4 of `causal_mask` is `return torch.ones(1, 1, size,")
    assert [each.number for each in line.lines if each.marked] == [4]
    assert line.lines[2].text == "def causal_mask(size):"


def test_nothing_is_asked_about_stubs_and_given_code(masks):
    released = {cell.id: cell.source for cell in masks.cells if cell.role in ("answer", "written")}
    assert asked(masks, released) == []
    padding = {"06-padding-mask-answer": RIGHT["06-padding-mask-answer"]}
    assert {q.item for q in asked(masks, released | padding)} == {"06.padding_mask"}


def test_a_line_that_the_task_shows_is_not_the_students_own(masks):
    given = "    scores = scores / math.sqrt(query.size(-1))\n"
    source = "def cross_attention_weights(query, key, source, pad_id):\n" + given + "    return 1\n"
    own = handed_in(masks, {"06-bug-answer": source}).answers["06.bug"]
    assert own.own == (3,)
    assert own.find(["math.sqrt(_)"]) is None


def test_what_grading_recognised_is_asked_about_and_no_misconception_of_others(masks):
    answers = {"06-causal-mask-answer": RIGHT["06-causal-mask-answer"].replace("tril", "triu")}
    result = item_result("06.causal_mask", 0.0, misconceptions=("past_hidden",))
    known = asked(masks, answers, results={result.id: result})
    [failed] = [q for q in known if q.kind == "failed"]
    assert "“Your mask allows the future" in failed.asks and len(failed.expects) == 2
    assert {q.kind for q in known} == {"line", "failed"}
    [line] = [q for q in known if q.kind == "line"]
    assert "did not pass" in line.note


def test_of_another_failure_the_first_test_that_failed_is_asked_about(masks):
    answers = {"06-causal-mask-answer": "def causal_mask(size):\n    return size\n"}
    tests = (PropertyResult("fine"), PropertyResult("it is boolean", "got 5\x1b[31m" + "a" * 900))
    result = item_result("06.causal_mask", 0.0, tests=tests)
    [failed] = asked(masks, answers, results={result.id: result})
    assert "“it is boolean”" in failed.asks
    assert "\x1b" not in failed.expects[0] and len(failed.expects[0]) < 400


def test_an_answer_that_called_what_is_ready_made_is_asked_about_in_its_own_words(masks):
    answers = {"06-causal-mask-answer": "def causal_mask(size):\n    return ready_made(size)\n"}
    result = item_result(
        "06.causal_mask", 0.0, misconceptions=("ready_made",), seen="It calls F.x."
    )
    [failed] = asked(masks, answers, results={result.id: result})
    assert "“It calls F.x.”" in failed.asks
    assert failed.expects == (
        "Says in words what the code computes, and how to write it in another way.",
    )
    nothing = item_result("06.causal_mask", 0.0)
    assert asked(masks, answers, results={result.id: nothing}) == []


def test_a_fix_whose_line_was_not_named_is_asked_about_by_its_line(masks):
    fixed = "def cross_attention_weights(query, key, source, pad_id):\n    return right(query)\n"
    result = item_result("06.bug", 0.0, line_found=False, tests=(PropertyResult("fine"),))
    [failed] = asked(masks, {"06-bug-answer": fixed}, results={result.id: result})
    assert "named another line" in failed.asks
    assert failed.expects[0].startswith("Line 5 of the task: scores = scores.masked_fill(")


def test_a_corrected_answer_is_asked_about_if_it_passes_now(masks):
    answers = {"06-causal-mask-answer": RIGHT["06-causal-mask-answer"]}
    passed, failed = item_result("06.causal_mask", 2), item_result("06.causal_mask", 0.0)
    for result, kinds in ((passed, {"corrected"}), (failed, set())):
        found = asked(masks, answers, results={result.id: result}, corrected=[result.id])
        assert {q.kind for q in found} & {"corrected"} == kinds


def test_the_students_own_sentence_is_quoted_up_to_its_end(masks):
    text = "Pads are keys. " + "And so on. " * 1000
    [words] = asked(masks, {"06-why-not-rows-written": text})
    assert words.kind == "words" and words.asks.startswith("You wrote: “Pads are keys.” Suppose")
    [words] = asked(masks, {"06-why-not-rows-written": "1. Yes. Pads are keys. No more."})
    assert words.asks.startswith("You wrote: “Pads are keys.” Suppose")
    [words] = asked(masks, {"06-why-not-rows-written": "-1e9 hides the columns."})
    assert words.asks.startswith("You wrote: “-1e9 hides the columns.” Suppose")
    [words] = asked(masks, {"06-why-not-rows-written": "Because."})
    assert words.asks.startswith("You wrote: “Because.” Suppose")
    [words] = asked(masks, {"06-why-not-rows-written": "\u202e\x00<b>" + "long " * 10_000})
    assert len(words.asks) < 500 and words.asks.isprintable()


def test_a_variant_is_named_beside_the_expected_points(masks):
    answers = {"06-causal-mask-answer": RIGHT["06-causal-mask-answer"]}
    result = item_result("06.causal_mask", 2, conventions=("true_hides",))
    found = asked(masks, answers, results={result.id: result})
    [line] = [q for q in found if q.kind == "line"]
    assert "true_hides" in line.note


def test_of_an_answer_that_is_no_python_no_line_is_asked_about(masks):
    for source in ("def causal_mask(size)\n    return 5", "def causal_mask(size):\n" + "(" * 6_000):
        made = handed_in(masks, {"06-causal-mask-answer": source})
        assert made.answers["06.causal_mask"].tree is None
        assert candidates(made, load_bank("06_masks")) == []


LOG = [
    {"step": 250, "loss": 3.0, "valid_loss": 0.8, "valid_exact": 0.3},
    {"step": 500, "loss": 0.5, "valid_loss": 0.1, "valid_exact": 0.9},
    {"step": 750, "loss": 0.3, "valid_loss": 0.2, "valid_exact": 0.8},
]


@pytest.mark.parametrize(
    ("log", "says"),
    [
        (LOG, "kept the weights of step 500, but went on until step 750. Why aren't"),
        (LOG[:2], "kept the weights of step 500, its last one."),
    ],
)
def test_the_students_own_run_is_asked_about_with_its_numbers(masks, log, says):
    answer = handed_in(masks, {"06-causal-mask-answer": RIGHT["06-causal-mask-answer"]})
    own = replace(answer, answers={"11.own_run": answer.answers["06.causal_mask"]}, log=log)
    first, second = candidates(own, ())
    assert says in first.asks and "0.100" in first.expects[0]
    assert "At step 500 your model had nine tenths" in second.asks
    assert candidates(replace(own, log=LOG[:1]), ()) == []
