"""Questions about a run that one's own number decides: what every such item must hold to."""

import json
import math
import re
import time
from collections import Counter

import pytest
import torch

from course_lib.checks import TABLE, _module, check, make_run
from course_lib.checks.items.own_number import Choice, Number
from course_lib.checks.table import OWN_NUMBER, TOPICS
from course_lib.errors import CourseError
from tools import ROOT

ITEMS = [entry.id for entry in TABLE.values() if entry.kind in OWN_NUMBER]
NUMBERS = range(60)
MOST_GUESSED = 0.25  # of all numbers have the commonest answer
SECONDS = 2.0


@pytest.fixture(autouse=True)
def _progress_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))


def both(item_id, first, second=6, **changed):
    """The right answers for two numbers, with something changed in the first."""
    return [right(item_id, first) | changed, right(item_id, second)]


def right(item_id, number):
    """The right answer for a number."""
    run = _module(item_id).run
    made = run.run(number)
    return {"number": number} | {
        key: question.letter(made) if isinstance(question, Choice) else question.right(made)
        for key, question in run.questions.items()
    }


def task_of(item_id):
    lesson = item_id[:2]
    path = ROOT / "solutions" / f"{lesson}_{TOPICS[lesson]}" / f"{TOPICS[lesson]}.ipynb"
    cells = json.loads(path.read_text("utf-8"))["cells"]
    wanted = f"{item_id.replace('.', '-')}-task"
    return next("".join(cell["source"]) for cell in cells if cell["id"] == wanted)


@pytest.mark.parametrize("item_id", ITEMS)
def test_what_a_run_shows_passes_and_says_something_true(item_id):
    for number in range(2):
        report = check(item_id, lambda number=number: both(item_id, number))
        assert report.passed, str(report)
        assert "What it shows: Number " in str(report) and "\n    Number 6: " in str(report)


@pytest.mark.slow
@pytest.mark.parametrize("item_id", ITEMS)
def test_no_other_letter_and_no_other_number_passes(item_id):
    run = _module(item_id).run
    good = right(item_id, 5)
    for key, question in run.questions.items():
        if isinstance(question, Choice):
            others = [letter for letter in question.names if letter != good[key]]
            assert others
        else:
            step = max(1.5 * question.within, 1)
            others = [good[key] + step, good[key] - step, -good[key] - step]
        for other in others:
            wrong = [good | {key: other}, right(item_id, 6)]
            for answers in (wrong, wrong[::-1]):
                report = check(item_id, lambda answers=answers: answers)
                assert not report.passed, f"{key}: {other}"
                assert f"Number 5, {key}: " in str(report)


@pytest.mark.slow
@pytest.mark.parametrize("item_id", ITEMS)
def test_without_the_run_one_can_only_guess(item_id):
    """No answer is right for many numbers, and each option is true for some."""
    questions = _module(item_id).run.questions
    answers = [right(item_id, number) for number in NUMBERS]
    for key, question in questions.items():
        if isinstance(question, Choice):
            assert {answer[key] for answer in answers} == set(question.names), key
    letters = [key for key, question in questions.items() if isinstance(question, Choice)]
    commonest = Counter(tuple(answer[key] for key in letters) for answer in answers)
    guessed = max(commonest.values()) / len(answers)
    for key, question in questions.items():
        if isinstance(question, Number):  # the guess that is right most often
            values = sorted(answer[key] for answer in answers)
            near = max(sum(abs(v - each) <= question.within for v in values) for each in values)
            guessed *= near / len(values)
    assert guessed <= MOST_GUESSED, f"{guessed:.0%} of all numbers have the same answer"


@pytest.mark.slow
@pytest.mark.parametrize("item_id", ITEMS)
def test_the_answer_is_the_same_on_any_number_of_threads(item_id):
    run, threads = _module(item_id).run, torch.get_num_threads()
    answers = []
    try:
        for many in (1, 2, 4):
            torch.set_num_threads(many)
            run._made.clear()
            answers.append([right(item_id, number) for number in range(3)])
    finally:
        torch.set_num_threads(threads)
    for other in answers[1:]:
        for first, second in zip(answers[0], other, strict=True):
            assert first == pytest.approx(second, rel=1e-4, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("item_id", ITEMS)
def test_a_run_takes_no_longer_than_one_waits(item_id):
    run = _module(item_id).run
    run._made.clear()
    start = time.process_time()
    run.run(123)
    assert time.process_time() - start < SECONDS


@pytest.mark.parametrize("item_id", ITEMS)
def test_a_run_leaves_the_generator_as_it_was_and_is_shown_in_narrow_lines(item_id):
    before = torch.get_rng_state()
    shown = make_run(item_id, number=7)
    assert torch.equal(before, torch.get_rng_state())
    assert repr(shown) == shown.text
    assert all(len(line) <= 80 for line in shown.text.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("item_id", ITEMS)
def test_a_run_is_shown_as_a_page_shows_it(item_id):
    shown = make_run(item_id, number=7)._repr_html_()
    assert '<pre style="white-space:pre;' in shown and "<script" not in shown


@pytest.mark.parametrize("item_id", ["04.compare", "06.compare"])
def test_the_caption_of_several_maps_is_short_and_compares_nothing(item_id):
    caption = make_run(item_id, number=7)._repr_html_().partition("<figcaption")[2]
    assert len(caption) < 300 and "A above" in caption and "entropy" not in caption


@pytest.mark.parametrize("item_id", ITEMS)
def test_the_task_lists_each_choice_as_the_check_has_it(item_id):
    task = task_of(item_id)
    listed = dict(re.findall(r"^- `(\w)`: (.+)$", task, re.MULTILINE))
    choices = [
        question
        for question in _module(item_id).run.questions.values()
        if isinstance(question, Choice) and question.letters[0] == "a"
    ]
    for question in choices:
        assert listed == {letter: question.options[n] for letter, n in question.names.items()}
        assert set(question.look) == set(question.options)
    for key in ("number", *_module(item_id).run.questions):
        assert f"`{key}`" in task, key
    assert f'make_run("{item_id}", number=...)' in task


@pytest.mark.parametrize("item_id", ITEMS)
def test_what_is_no_answer_is_told_in_a_sentence(item_id):
    good = right(item_id, 5)
    other = right(item_id, 6)
    for changed, message in [
        ({"number": -1}, "a whole number of your own"),
        ({"number": True}, "a whole number of your own"),
        ({"number": 10**30}, "a whole number of your own"),
        ({"number": 6}, "Expected two numbers, got 6 twice"),
        ({"more": 1}, "The first of yours also has 'more'"),
        ({"Predicted": 1}, "also has 'Predicted': did you mean predicted?"),
        ({"number": "5"}, "got '5' in the first of the two dicts"),
        *(
            ({key: each}, f"Expected as {key}")
            for key in good
            for each in ([], None, float("nan"), "Z")
        ),
        *(({key: None}, "got None for number 5") for key in good if key != "number"),
    ]:
        report = check(item_id, lambda changed=changed: [good | changed, other])
        assert not report.passed
        assert message in str(report), (changed, str(report))
    for key in good:
        missing = {k: v for k, v in good.items() if k != key}
        report = check(item_id, lambda missing=missing: [other, missing])
        assert not report.passed and f"The second of yours lacks {key}." in str(report)
        renamed = missing | {key.title(): good[key]}
        report = str(check(item_id, lambda renamed=renamed: [renamed, other]))
        assert f"The first of yours lacks {key} and has '{key.title()}': did you mean {key}?" in (
            " ".join(report.split())
        )
    for answer in (None, [], 3, "a", {}, good, [good], [good, other, good], [good, 3]):
        report = check(item_id, lambda answer=answer: answer)
        assert not report.passed and "a list of two dicts" in str(report)


@pytest.mark.parametrize(
    ("predicted", "told"),
    [
        (0, "You predicted 0."),
        (12.5, "You predicted 12.5."),
        ([3, 11], "You predicted 3, 11."),
        (None, ""),
        ([], ""),
        ("many", "Your prediction, 'many', is neither a number"),
        (float("inf"), "Your prediction, inf, is neither a number"),
        ([[1]], "Your prediction, [[1]], is neither a number"),
        ([10, "half"], "Your prediction, [10, 'half'], is neither a number"),
    ],
)
def test_a_prediction_is_never_judged(predicted, told):
    report = check("04.predict", lambda: both("04.predict", 5, predicted=predicted))
    assert report.passed
    text = " ".join(str(report).split())
    assert told in text and ("predict" in text.split("What it shows")[1].lower()) == bool(told)


def test_a_prediction_is_repeated_with_its_unit():
    report = check("09.predict", lambda: both("09.predict", 5, predicted=0.5))
    assert report.passed and "You predicted 0.5 %." in " ".join(str(report).split())


def test_a_choice_of_two_is_asked_for_by_both_letters():
    answers = both("04.compare", 5, honest="C")
    report = str(check("04.compare", lambda: answers))
    assert "Expected as honest 'A' or 'B', got 'C' for number 5." in report


def test_a_run_names_its_keys():
    shown = make_run("02.predict", number=1)
    assert [*shown] == shown.keys() == ["logits", "labels", "read"] and "read" in shown
    for key, message in [("logit", "did you mean logits"), (0, "got 0"), (["logits"], "got")]:
        with pytest.raises(
            CourseError, match=r"a key of this run \(logits, labels, read\)"
        ) as told:
            shown[key]
        assert message in str(told.value)


def test_a_tensor_without_axes_is_a_number():
    keys = torch.tensor(right("04.predict", 5)["keys"])
    assert check("04.predict", lambda: both("04.predict", 5, keys=keys)).passed


@pytest.mark.parametrize("number", [-1, 1.5, "3", None, True, 10**13])
def test_a_run_has_a_number(number):
    with pytest.raises(CourseError, match="a whole number of your own"):
        make_run("04.predict", number=number)


def test_other_items_have_no_run():
    with pytest.raises(CourseError, match=r"an item that asks about a run \(.*04\.predict"):
        make_run("04.cases", number=1)


FOUND = 11.9


def taking_from_another_cell():
    return [{"number": 5, "keys": FOUND, "why": "a"}, {"number": 6, "keys": FOUND, "why": "a"}]


def making_a_run():
    keys = float(make_run("04.predict", number=5)["d_head"])
    return [{"number": 5, "keys": keys, "why": "a"}]


def test_an_answer_that_grading_could_not_read_is_refused_at_home_too():
    text = str(check("04.predict", taking_from_another_cell))
    assert "yours takes `FOUND` from outside of it, where grading has no run to fill it" in text
    assert "the answer makes a run itself" in str(check("04.predict", making_a_run))


def test_an_answer_may_use_modules_and_functions():
    def number():
        return 5

    def predict():
        return [right("04.predict", math.floor(number())), right("04.predict", 6)]

    assert check("04.predict", predict).passed
