"""Which error a hidden function has: an answer passes if its calls leave only the one it names."""

import json
import re
from collections import Counter

import pytest
import torch

from course_lib.checks import TABLE, _module, black_box, check
from course_lib.checks.items.honest_numbers.experiment import box
from course_lib.errors import CourseError
from tools import ROOT

ITEM = "12.experiment"


@pytest.fixture(autouse=True)
def _progress_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))


def corpus(*sentences):
    return [sentence.split() for sentence in sentences]


REFERENCE = "The cat sleeps on the old mat today ."
LONGER = corpus("The cat sleeps on the old mat now today ."), corpus(REFERENCE)
SHORTER = corpus("The cat sleeps on the old mat"), corpus(REFERENCE)
SMALL = corpus("the cat sleeps on the old mat today ."), corpus(REFERENCE)
TWO = corpus(REFERENCE, "The dog eats"), corpus(REFERENCE, "The dog eats")
MIXED = (
    corpus("the cat sleeps on the old old mat today .", "The dog eats"),
    corpus(REFERENCE, "The dog eats"),
)
ALL = [MIXED, SHORTER]
LETTER = {name: letter for letter, name in box.letters.items()}
NUMBERS_OF = {
    error: [number for number in range(200) if box.error_of(number) == error] for error in box.wrong
}


def answer(error, calls, /, **changed):
    """Answers about two numbers whose boxes have the same error, the second one as it must be."""
    first, second = NUMBERS_OF[error][:2]
    good = {"number": second, "error": LETTER[error], "calls": ALL}
    bad = {"number": first, "error": LETTER[error], "calls": calls} | changed
    return [with_what_it_gave(ITEM, each) for each in (bad, good)]


def with_what_it_gave(item_id, answer):
    """The answer with what the box gives in its calls, where the item asks for that."""
    here = _module(item_id).box
    if here.digits is None:
        return answer
    try:
        error = here.error_of(answer["number"])
        gave = [here.answer(error, arguments).value for arguments in answer["calls"]]
        gave = [value.flatten()[-1] if isinstance(value, torch.Tensor) else value for value in gave]
        gave = [round(float(value), here.digits) for value in gave]
    except (TypeError, ValueError):  # what is no call gives nothing
        gave = []
    return {"gave": gave} | answer


def checked(returned):
    return check(ITEM, lambda: returned)


def test_each_error_is_known_to_the_item_and_comes_as_often_as_another():
    known = {misconception.name for misconception in box.of.misconceptions}
    assert set(box.wrong) <= known and len(box.wrong) == 6
    often = Counter(box.error_of(number) for number in range(9_000))
    assert min(often.values()) > 1_350 and max(often.values()) < 1_650


@pytest.mark.parametrize("error", box.wrong)
def test_two_good_calls_show_each_error_and_no_other_answer_passes(error):
    passed = [letter for letter in box.letters if checked(answer(error, ALL, error=letter)).passed]
    assert passed == [LETTER[error]]


def test_what_else_would_explain_the_calls_is_named():
    report = checked(answer("no_brevity_penalty", [LONGER]))
    assert not report.passed
    assert "as well by a, b, f, a function without an error" in str(report)
    report = checked(answer("no_brevity_penalty", [LONGER, SHORTER]))
    assert "as well by d." not in str(report)
    assert report.passed


def test_an_error_that_a_call_rules_out_is_told_with_that_call():
    report = checked(answer("arithmetic_mean", [TWO, LONGER], error=LETTER["smoothed"]))
    assert "call 2 tells against" in str(report)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"number": -1}, "a whole number of your own"),
        ({"number": True}, "a whole number of your own"),
        ({"number": 1.0}, "a whole number of your own"),
        ({"number": 10**30}, "a whole number of your own"),
        ({"number": "7"}, "a whole number of your own"),
        ({"error": "z"}, "the letter of an error"),
        ({"error": "arithmetic_mean"}, "the letter of an error"),
        ({"error": ["a"]}, "the letter of an error"),
        ({"error": None}, "the letter of an error"),
        ({"calls": []}, "a list of calls"),
        ({"calls": None}, "a list of calls"),
        ({"calls": LONGER}, "calls must be a list of calls, each a tuple"),
        ({"calls": [LONGER] * 4}, "at most 3 calls, got 4"),
        ({"calls": [corpus("a b")]}, "the arguments of bleu, (hypotheses, references)"),
        ({"calls": ["a b"]}, "each a tuple of its arguments, as in [(hypotheses, references)]"),
        ({"error": "z"}, "got 'z' for number"),
        ({"calls": [("a b", "a b")]}, "as lists of sentences"),
        ({"calls": [(["a b"], ["a b"])]}, "a sentence as a list of words"),
        ({"calls": [([["a", 1]], [["a", "b"]])]}, "a sentence as a list of words"),
        ({"calls": [(corpus("a", "b"), corpus("a"))]}, "one reference for each"),
        ({"calls": [(corpus("a " * 200), corpus("a"))]}, "at most 120 numbers or words"),
        ({"gave": [1.0]}, "one number for each of your calls, in all 2, got [1.0]."),
        ({"gave": 1.0}, "got 1.0"),
        ({"gave": [1.0, None]}, "gave must be a list"),
        ({"gave": [1.0, 2.0]}, "in call 1, your box doesn't give 1.0"),
        ({"more": 1}, "each with the keys number, error, calls"),
        ({"more": 1}, "The first of yours also has 'more'."),
    ],
)
def test_what_is_no_experiment_is_told_in_a_sentence(changed, message):
    report = checked(answer("arithmetic_mean", ALL, **changed))
    assert not report.passed
    assert message in str(report)


def test_of_a_tensor_the_last_number_is_what_the_box_gave():
    here = _module("17.experiment").box
    first, second = (
        {"number": n, "error": letter, "calls": GOOD["17.experiment"]}
        for n in (3, 4)
        for letter, name in here.letters.items()
        if name == here.error_of(n)
    )
    good = [with_what_it_gave("17.experiment", each) for each in (first, second)]
    assert check("17.experiment", lambda: good).passed
    wrong = [good[0] | {"gave": [good[0]["gave"][0] + 0.002]}, good[1]]
    report = " ".join(str(check("17.experiment", lambda: wrong)).split())
    assert "doesn't give" in report and "as its last number." in report


@pytest.mark.parametrize("item_id", ["11.experiment", "12.experiment", "17.experiment"])
def test_letters_are_told_apart_only_for_whoever_says_what_the_box_gave(item_id):
    here = _module(item_id).box
    for letter in here.letters:
        guessed = [
            {"number": n, "error": letter, "calls": GOOD[item_id]}
            | {"gave": [1.5] * len(GOOD[item_id])}
            for n in (3, 4)
        ]
        report = str(check(item_id, lambda guessed=guessed: guessed))
        assert "Number 3: in call 1, your box doesn't give 1.5" in " ".join(report.split())
        assert "tells against" not in report


def test_what_the_box_gave_may_be_a_tensor_and_has_two_decimals():
    good, other = answer("arithmetic_mean", ALL)
    for change, passes in ((0, True), (0.02, False)):
        gave = [torch.tensor(value + change) for value in good["gave"]]
        assert checked([good | {"gave": gave}, other]).passed == passes


@pytest.mark.parametrize("value", [None, [], "a", 3, {}, {"number": 1}])
def test_an_answer_of_another_form_is_told(value):
    report = check(ITEM, lambda: value)
    assert not report.passed and report.diagnosis.status == "not yet"


def test_after_the_budget_the_box_is_closed_and_that_of_another_number_is_not():
    closed = black_box(ITEM, number=3)
    for arguments in (LONGER, LONGER, SHORTER, SMALL):
        with pytest.raises(CourseError, match="this call is free"):
            closed("a b", "a b")
        closed(*arguments)
    for again in (closed, black_box(ITEM, number=3)):
        with pytest.raises(CourseError, match="at most 3 calls"):
            again(*TWO)
        assert again(*LONGER) == closed(hypotheses=LONGER[0], references=LONGER[1])
        with pytest.raises(CourseError, match=r"expected box\(hypotheses, references\)"):
            again(LONGER[0], reference=LONGER[1])
    assert black_box(ITEM, number=4)(*LONGER) > 0


def test_a_box_says_how_many_calls_are_left_and_nothing_of_its_error():
    box = black_box(ITEM, number=5)
    left = []
    for arguments in (LONGER, LONGER, SHORTER, SMALL):
        box(*arguments)
        left.append(repr(box))
    shown = ("2 calls left", "2 calls left", "1 call left", "0 calls left")
    assert left == [f"<box 5: bleu with one error, {each}>" for each in shown]


def test_an_answer_does_not_call_the_box():
    open_box, arguments = black_box(ITEM, number=3), LONGER
    report = check(ITEM, lambda: [{"number": 3, "error": "a", "calls": [open_box(*arguments)]}])
    assert "when it is graded" in str(report)


@pytest.mark.parametrize("number", [-1, 1.5, "3", None, True, 10**13])
def test_a_box_has_a_number(number):
    with pytest.raises(CourseError, match="a whole number of your own"):
        black_box(ITEM, number=number)


def test_other_items_have_no_box():
    with pytest.raises(CourseError, match=r"an item that is an experiment \(.*12\.experiment.*\)"):
        black_box("06.cases", number=1)


X = torch.tensor([[[1.0, 2, 3, 6], [0, 0, 4, 4]], [[2, 2, 2, 6], [9, 1, 1, 1]]])
LOGITS = torch.tensor([[[0.0, 1, 2, 3], [3, 0, 0, 0]], [[0, 0, 5, 0], [0, 0, 0, 0]]])
ONE_NUMBER = (  # query, key and value (B, H, S, 1): each score is one product
    torch.tensor([[[1.0, 2], [0, 1]], [[2, 0], [1, 3]]])[..., None],
    torch.tensor([[[0.0, 1], [2, 1]], [[1, 3], [0, 2]]])[..., None],
    torch.tensor([[[1.0, 2], [3, 5]], [[8, 13], [21, 34]]])[..., None],
)
TURNED = torch.arange(1.0, 9.0).view(1, 2, 1, 4)  # two heads of two pairs, one token
LOWER = torch.tensor([[[[True, False], [True, True]]]])
SCORES, VALUES = torch.tensor([0.0, 1, 2, 1, 1]), torch.tensor([4.0, 1, 2, 9, 6])
GOOD = {
    "01.experiment": [(2, 8)],
    "03.experiment": [(X, torch.full((4,), 2.0), torch.ones(4), 1.0)],
    "05.experiment": [(*ONE_NUMBER, LOWER)],
    "11.experiment": [
        (LOGITS, torch.tensor([[3, 1], [2, 0]]), 0, 0.0),
        (LOGITS[:1, :1], torch.tensor([[2]]), 0, 0.5),
    ],
    "12.experiment": ALL,
    "17.experiment": [(TURNED, torch.tensor([2]), 100.0)],
    "18.experiment": [(SCORES, VALUES, 2)],
}
BAD = {
    "01.experiment": [(8,), (2, 7), (0, 8), (2, 0), (2.0, 8), (True, 8), (3, 6)],
    "03.experiment": [
        (X[0], torch.ones(4), torch.ones(4), 1.0),
        (X, torch.ones(3), torch.ones(4), 1.0),
        (X, torch.ones(4), torch.ones(4), 0),
        (X.long(), torch.ones(4), torch.ones(4)),
        (X, None, None),
    ],
    "05.experiment": [
        (ONE_NUMBER[0].long(), *ONE_NUMBER[1:]),
        (ONE_NUMBER[0], ONE_NUMBER[1][:, :, :1], ONE_NUMBER[2]),
        (ONE_NUMBER[0][0], ONE_NUMBER[1][0], ONE_NUMBER[2][0]),
        (*ONE_NUMBER[:2], ONE_NUMBER[2][:, :1]),
        (*ONE_NUMBER, LOWER.float()),
        (*ONE_NUMBER, LOWER[None]),
        (*ONE_NUMBER, LOWER[0, 0, :, :1].expand(2, 3)),
        (*ONE_NUMBER, LOWER.expand(3, 1, 2, 2)),
        (*ONE_NUMBER, ~LOWER),
        (*ONE_NUMBER[:2], None),
        (ONE_NUMBER[0].double(), *ONE_NUMBER[1:]),
    ],
    "11.experiment": [
        (LOGITS, torch.tensor([[3, 1]]), 0, 0.0),
        (LOGITS, torch.tensor([[3, 1], [2, 4]]), 0, 0.0),
        (LOGITS, torch.tensor([[3, 1], [2, 0]]), 9, 0.0),
        (LOGITS, torch.tensor([[3, 1], [2, 0]]), 0, 1.5),
        (LOGITS, torch.tensor([[3.0, 1], [2, 0]]), 0, 0.0),
        (LOGITS, torch.tensor([[3, 1], [2, 0]]), 0, 0),
        (LOGITS[..., :2], torch.tensor([[1, 1], [1, 0]]), 0, 0.0),
    ],
    "12.experiment": [("a b", "a b")],
    "17.experiment": [
        (TURNED[0], torch.tensor([2]), 100.0),
        (TURNED.long(), torch.tensor([2]), 100.0),
        (TURNED[..., :3], torch.tensor([2]), 100.0),
        (TURNED, torch.tensor([2, 3]), 100.0),
        (TURNED, torch.tensor([2.0]), 100.0),
        (TURNED, 2, 100.0),
        (TURNED, torch.tensor([-1]), 100.0),
        (TURNED, torch.tensor([1001]), 100.0),
        (TURNED, torch.tensor([2]), 0),
        (TURNED, torch.tensor([2]), "100"),
    ],
    "18.experiment": [
        (SCORES[None], VALUES[None], 2),
        (SCORES.long(), VALUES, 2),
        (SCORES.tolist(), VALUES, 2),
        (SCORES[:4], VALUES, 2),
        (SCORES[:0], VALUES[:0], 2),
        (SCORES + 20, VALUES, 2),
        (SCORES * float("nan"), VALUES, 2),
        (SCORES, VALUES * 100, 2),
        (SCORES, VALUES, 0),
        (SCORES, VALUES, 2.0),
        (SCORES, VALUES, True),
    ],
}


TOO_MANY = {
    "01.experiment": (4, 8),
    "03.experiment": (torch.randn(4, 6, 12), torch.ones(12), torch.ones(12), 1.0),
    "05.experiment": (torch.randn(2, 2, 6, 2),) * 3,
    "11.experiment": (torch.randn(5, 5, 5), torch.ones(5, 5).long(), 0, 0.0),
    "12.experiment": (corpus("a " * 100), corpus("a " * 100)),
    "17.experiment": (torch.randn(1, 2, 2, 4), torch.tensor([1, 2]), 100.0),
    "18.experiment": (torch.zeros(9), torch.zeros(9), 2),
}
A_NAME_TOO_MANY = {
    "01.experiment": {"base": 1000.0},
    "03.experiment": {"dim": -1},
    "05.experiment": {"dropout_p": 0.0},
    "11.experiment": {"reduction": "mean"},
    "12.experiment": {"smooth": True},
    "17.experiment": {"interleaved": True},
    "18.experiment": {"causal": True},
}


@pytest.mark.parametrize("item_id", GOOD)
def test_what_a_box_does_not_take_is_refused_before_the_call_and_costs_none(item_id):
    box_of, names = black_box(item_id, number=12345), _module(item_id).box.arguments
    for arguments in (*BAD[item_id], TOO_MANY[item_id]):
        with pytest.raises(CourseError, match="this call is free"):
            box_of(*arguments)
    first, *_ = GOOD[item_id]
    for args, kwargs in ((first[:-2], {}), (first, A_NAME_TOO_MANY[item_id])):
        with pytest.raises(CourseError, match="this call is free") as raised:
            box_of(*args, **kwargs)
        assert f"expected box{names}: " in str(raised.value)
        assert "Tensor" not in names and "->" not in names
    for arguments in GOOD[item_id]:  # the budget is still there
        box_of(*arguments)


@pytest.mark.parametrize("item_id", ["11.experiment", "12.experiment"])
def test_calls_that_are_answered_fit_into_one_answer(item_id):
    box_of, (first, *_) = black_box(item_id, number=54321), GOOD[item_id]
    box_of(*first)
    nearly_all = {
        "11.experiment": (torch.randn(4, 5, 4), torch.ones(4, 5).long(), 0, 0.0),
        "12.experiment": (corpus("a " * 55), corpus("a " * 55)),
    }[item_id]
    with pytest.raises(
        CourseError, match=r"those of your earlier calls are \d+ of them; this call"
    ):
        box_of(*nearly_all)
    assert not _module(item_id).box.wrong_arguments([nearly_all], "call")


def test_a_tensor_with_a_gradient_may_be_given_to_a_box():
    query, key, value = (2 * x.clone().requires_grad_() for x in ONE_NUMBER)
    context, _ = black_box("05.experiment", number=777)(query, key, value)
    assert context.requires_grad


@pytest.mark.parametrize("calls", [[2, 8], (2, 8), [2], [None], [X]])
def test_calls_without_their_parentheses_are_told_as_what_they_are(calls):
    both = [{"number": n, "error": "a", "calls": calls} for n in (1, 2)]
    report = str(check("01.experiment", lambda: both))
    assert "each a tuple of its arguments, as in [(length, d_model)], got" in report


def test_each_experiment_has_good_calls_here():
    assert set(GOOD) == {entry.id for entry in TABLE.values() if entry.kind == "experiment"}


@pytest.mark.slow
@pytest.mark.parametrize("item_id", GOOD)
def test_every_error_can_be_shown_within_the_budget(item_id):
    here = _module(item_id).box
    assert len(GOOD[item_id]) <= here.most_calls
    for letter, name in here.letters.items():
        numbers = [number for number in range(200) if here.error_of(number) == name][:2]
        shown = [
            with_what_it_gave(item_id, {"number": n, "error": letter, "calls": GOOD[item_id]})
            for n in numbers
        ]
        report = check(item_id, lambda shown=shown: shown)
        assert report.passed, name
        assert f"left 1: {here.wrong[name]}" in str(report)


@pytest.mark.parametrize("item_id", BAD)
def test_arguments_that_the_function_does_not_take_are_told_one_by_one(item_id):
    for arguments in BAD[item_id]:
        wrong = {"error": "a", "calls": [arguments]}
        both = [with_what_it_gave(item_id, wrong | {"number": n}) for n in (1, 2)]
        report = check(item_id, lambda both=both: both)
        assert not report.passed and "in call 1" in str(report), arguments


@pytest.mark.parametrize("item_id", GOOD)
def test_the_task_lists_the_errors_as_the_box_has_them(item_id):
    here, cell_id = _module(item_id).box, f"{item_id[:2]}-experiment-task"
    [path] = ROOT.glob(f"exercises/{item_id[:2]}_*/*.ipynb")
    cells = json.loads(path.read_text("utf-8"))["cells"]
    [task] = ["".join(cell["source"]) for cell in cells if cell["id"] == cell_id]
    listed = dict(re.findall(r"^- `(\w)`: (.+)$", task, re.MULTILINE))
    assert listed == {letter: here.wrong[name] for letter, name in here.letters.items()}


@pytest.mark.parametrize("axes", [2, 3, 4])
def test_a_mask_may_have_fewer_axes_as_the_function_takes_it(axes):
    here, arguments = (
        _module("05.experiment").box,
        (*ONE_NUMBER, LOWER.reshape(LOWER.shape[-axes:])),
    )
    for letter, name in here.letters.items():
        numbers = [number for number in range(200) if here.error_of(number) == name][:2]
        shown = [{"number": n, "error": letter, "calls": [arguments]} for n in numbers]
        assert check("05.experiment", lambda shown=shown: shown).passed, name


def test_of_tensors_a_message_has_the_shapes_and_not_the_numbers():
    wrong = (*ONE_NUMBER, LOWER.float())
    answers = [{"number": n, "error": "a", "calls": [wrong]} for n in (1, 2)]
    shapes = "float32 of shape (1, 1, 2, 2)"
    report = str(check("05.experiment", lambda: answers))
    assert f"mask None, or a boolean tensor, got {shapes} in call 1" in " ".join(report.split())
    with pytest.raises(CourseError) as raised:
        black_box("05.experiment", number=1)(*wrong)
    assert f"a boolean tensor, got {shapes}; this call is free" in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((LOGITS.tolist(), [[3, 1], [2, 0]], 0, 0.0), "(B, T, V), got [[[0.0, 1.0"),
        ((LOGITS, torch.tensor([[3.0, 1], [2, 0]]), 0, 0.0), "got float32 of shape (2, 2);"),
        ((LOGITS, torch.tensor([[3, 1], [2, 0]]), 0, 1.5), "from 0.0 to 1.0, got 1.5;"),
        ((LOGITS, torch.tensor([[3, 1]]), 0, 0.0), "got (float32 of shape (2, 2, 4), int64 of"),
        ((LOGITS, torch.tensor([[3, 1], [2, 4]]), 0, 0.0), "got (float32 of shape (2, 2, 4), "),
    ],
)
def test_of_wrong_arguments_a_message_shows_the_one_that_is_wrong(arguments, message):
    with pytest.raises(CourseError) as raised:
        black_box("11.experiment", number=1)(*arguments)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("item_id", "call"),
    [("01.experiment", (2, 8)), ("05.experiment", (*ONE_NUMBER, LOWER)), ("12.experiment", MIXED)],
)
def test_one_call_without_its_list_is_told(item_id, call):
    wrong = {"error": "a", "calls": call}
    answers = [with_what_it_gave(item_id, wrong | {"number": n}) for n in (1, 2)]
    report = str(check(item_id, lambda: answers))
    assert "Number 1: calls must be a list of calls" in report
    assert "tensor([" not in report
