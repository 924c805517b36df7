"""A wrong result without a misconception is told what it has to do with the right one."""

import pytest
import torch

from course_lib.checks import load_item
from course_lib.checks.diagnosis import naming
from course_lib.checks.diagnosis.diagnose import diagnose
from course_lib.checks.diagnosis.relations import find_relation
from course_lib.checks.diagnosis.tensor_relations import find_tensor_relation
from course_lib.checks.engine.call import Answer, Call
from course_lib.checks.engine.item import Item, Probe
from course_lib.checks.report.feedback import Report
from course_lib.model import attention_matmul


def table(n, d):
    return torch.arange(n * d, dtype=torch.float32).view(n, d).sin()


def item_of(reference):
    calls = [Call((4, 6)), Call((5, 3)), Call((3, 8))]
    return Item(
        "06.padding_mask",
        reference=reference,
        probes=[
            Probe("it is right", lambda draw: calls[:2]),
            Probe("it still is", lambda draw: calls[2:]),
        ],
        hints=("one", "two", "three"),
    )


@pytest.mark.parametrize(
    "wrong, name, words",
    [
        (lambda n, d: None, "nothing_returned", "Is a `return` missing?"),
        (lambda n, d: table(n, d).double(), "another_dtype", "got torch.float64"),
        (lambda n, d: table(n, d).T, "axes_in_another_order", "`right.permute(1, 0)`"),
        (lambda n, d: table(n, d)[None], "axis_of_size_one", "(1, 4, 6)"),
        (lambda n, d: table(n, d).flatten(), "another_shape", "got shape (24,)"),
        (lambda n, d: -table(n, d), "sign_reversed", "opposite sign"),
        (lambda n, d: 2 * table(n, d), "wrong_factor", "multiplied by 2."),
        (lambda n, d: table(n, d) / d, "wrong_factor", "a different number in each call: 0.1667,"),
        (lambda n, d: table(n, d) ** 2, "squared", "but squared"),
        (lambda n, d: table(n, d).exp(), "exponential", "exp(x)"),
        (lambda n, d: table(n, d).sqrt(), "square_root", "but replaced by their square roots"),
        (lambda n, d: table(n, d).mul(10).round() / 10, "rounded", "rounded to 0.1."),
        (lambda n, d: table(n, d) + 1, "wrong_offset", "+1 added"),
        (lambda n, d: table(n, d).flip(0), "reversed_along_an_axis", "along axis 0"),
        (lambda n, d: table(n + 1, d)[1:], "shifted_by_one", "too early along axis 0"),
        (lambda n, d: table(n, d)[:-1], "too_short", "missing at the end of axis 0"),
        (lambda n, d: table(n + 1, d), "too_long", "at the end of axis 0"),
        (lambda n, d: table(n, d).tolist(), "list_for_tensor", "as a list"),
        (lambda n, d: (table(n, d), n), "more_than_asked_for", "comes first"),
    ],
)
def test_a_relation_is_named(wrong, name, words):
    report = Report(diagnose(item_of(table), wrong))
    assert not report.passed and report.misconception == name
    assert words in str(report)


@pytest.mark.parametrize(
    "wrong, name",
    [
        (lambda n, d: (table(n, d), table(d, n).cos())[::-1], "entries_reversed"),
        (lambda n, d: table(n, d), "first_result_only"),
    ],
)
def test_a_relation_of_several_results_is_named(wrong, name):
    item = item_of(lambda n, d: (table(n, d), table(d, n).cos()))
    assert Report(diagnose(item, wrong)).misconception == name


@pytest.mark.slow
def test_a_gradient_that_is_cut_and_a_result_of_another_type_are_named():
    item = load_item("04.scaled_dot_product_attention")

    def detached(query, key, value, mask=None):
        context, weights = attention_matmul(query, key, value, mask)
        return context.detach(), weights.detach()

    report = Report(diagnose(item, detached))
    assert report.misconception == "gradient_cut" and "`.item()`" in str(report)
    item = load_item("14.align")
    report = Report(diagnose(item, lambda *args: sorted(item.reference(*args))))
    assert report.misconception == "another_type" and "got a list" in str(report)


def test_a_mask_may_be_inverted_and_needs_its_axes():
    item = item_of(lambda n, d: (table(n, d) > 0)[None])
    assert Report(diagnose(item, lambda n, d: (table(n, d) <= 0)[None])).misconception == "inverted"
    column = item_of(lambda n, d: torch.arange(d).expand(2, n, d) % 3)
    wrong = Report(diagnose(column, lambda n, d: torch.arange(d) % 3))
    assert wrong.misconception == "axes_missing"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda n, d: table(n, d).cos(),
        lambda n, d: 2 * table(n, d) if n == 4 else 1 + table(n, d),
        lambda n, d: table(n, d).T if n == 4 else table(n, d).flip(0),
        lambda n, d: 1 / 0,
        lambda n, d: "text",
    ],
)
def test_no_relation_is_named_that_does_not_hold_for_every_wrong_answer(wrong):
    assert find_relation(diagnose(item_of(table), wrong).trials) is None


def test_two_lone_numbers_always_differ_by_a_factor_which_says_nothing():
    item = item_of(lambda n, d: float(n + d))
    assert Report(diagnose(item, lambda n, d: float(n * d))).misconception is None
    assert Report(diagnose(item, lambda n, d: 2.0 * (n + d))).misconception == "wrong_factor"


@pytest.mark.parametrize(
    "wrong, name, words",
    [
        (lambda x: x.cos().sum(1), "axis_missing", "Axis 1 of the right result, of size 3"),
        (lambda x: x.cos()[:, None], "axis_too_many", "Axis 1 of your result, of size 1"),
        (lambda x: x.cos().transpose(1, 2), "axes_exchanged", "in another order"),
        (lambda x: x.cos()[:, 1:], "size_of_an_axis", "Axis 1 is 1 too short"),
        (lambda x: x.cos().repeat(1, 2, 1), "size_of_an_axis", "Only axis 1 has the wrong size"),
        (lambda x: x.sin().numpy(), "another_type", "The type is wrong"),
        (lambda x: (x.sin(), None)[1] if x.size(1) == 3 else x.sin(), "nothing_returned", "None"),
    ],
)
def test_a_wrong_shape_or_type_is_described(wrong, name, words):
    calls = [Call((torch.rand(2, 3, 5),)), Call((torch.rand(2, 4, 5),))]
    probe = Probe("it is right", lambda draw: calls)
    item = Item(
        "06.padding_mask",
        reference=lambda x: x.sin(),
        probes=[probe],
        hints=("one", "two", "three"),
    )
    report = Report(diagnose(item, wrong))
    assert report.misconception == name and words in str(report)


def test_a_result_of_another_shape_is_not_copied_however_large_it_is():
    right, huge = table(4, 6), torch.zeros(1, dtype=torch.uint8).expand(1 << 45)
    assert find_tensor_relation([(right, huge)], 1e-5) is None
    answers = (Answer(right.cos()), Answer({"a": huge}), Answer(right))
    assert not naming.are_alike(*answers[:2], right=answers[2], tolerance=1e-5)
    same = Answer(right.cos().double())
    assert naming.are_alike(answers[0], same, right=answers[2], tolerance=1e-5)


def test_numbers_that_are_not_finite_have_no_relation():
    wrong = diagnose(item_of(table), lambda n, d: table(n, d) * float("nan"))
    assert find_relation(wrong.trials) is None


def test_two_misconceptions_that_exclude_one_another_are_not_named_together():
    item = load_item("06.causal_mask")
    names = {m.name: m for m in item.misconceptions}
    assert item.together(names["past_hidden"], names["diagonal_hidden"]) is not None
    assert item.together(names["past_hidden"], names["one_step_ahead"]) is None


def scalars(n, d):
    return {"rate": n / d, "unchanged": True}


@pytest.mark.parametrize(
    "wrong, name, words",
    [
        (lambda n, d: {"rate": 100 * n / d, "unchanged": True}, "wrong_factor", "by 100."),
        (lambda n, d: {"rate": 1 - n / d, "unchanged": True}, "complement", "1 - x"),
        (lambda n, d: {"rate": round(n / d, 1), "unchanged": True}, "rounded", "to 0.1."),
    ],
)
def test_the_relation_of_numbers_in_a_dict_is_named(wrong, name, words):
    report = Report(diagnose(item_of(scalars), wrong))
    assert report.misconception == name and words in str(report)


def test_numbers_are_not_related_where_something_else_differs_too():
    report = Report(diagnose(item_of(scalars), lambda n, d: {"rate": 2 * n / d, "unchanged": 0.5}))
    assert report.misconception is None


def test_a_relation_of_the_first_test_alone_says_so():
    report = Report(
        diagnose(item_of(table), lambda n, d: table(n, d) * (2 if d < 8 else 3) + d // 8)
    )
    assert report.misconception == "wrong_factor"
    assert "In the first test: the right numbers, all multiplied by 2." in str(report)


def test_a_wrong_number_of_tokens_is_told_by_the_first_wrong_token():
    def tokens(n, d):
        return torch.arange(n * d).view(n, d)

    report = Report(diagnose(item_of(tokens), lambda n, d: (2 * tokens(n, d))[:, :-1]))
    assert report.misconception == "other_tokens"
    assert "at [1, 0], 6 is expected, and you have 12" in str(report)


F, T = False, True


@pytest.mark.parametrize(
    "right, wrong",
    [
        ([[[[F, F, F, T]]]], [[[[F, F, F, F]]]]),  # cumprod over the padding is no shift
        ([1.0, 1.0, 1.0], [1.96, 1.96, 1.96]),  # a constant is any constant times a number
        ([2.0, 2.0, 2.0, 2.0], [2.5, 2.5, 2.5, 2.5]),
        ([[T, F], [F, T]], [[F, T], [T, F]]),  # inverted, and as well flipped
        ([3, 4, 4], [4, 4, 3]),
        ([1, 1, 1, 1], [1, 1, 1]),
        ([0.5], [-0.5]),
    ],
)
def test_no_relation_is_named_that_holds_by_chance(right, wrong):
    assert find_tensor_relation([(torch.tensor(right), torch.tensor(wrong))], 1e-5) is None


def test_two_large_numbers_that_are_almost_equally_too_large_have_no_offset_in_common():
    scores = [(46.31089713579418, 47.694832162585534), (45.97156846072724, 47.35510197360841)]
    pairs = [tuple(torch.tensor(x, dtype=torch.float64) for x in pair) for pair in scores]
    assert find_tensor_relation(pairs, 1e-5) is None


def test_many_truth_values_or_a_few_varied_numbers_are_evidence():
    mask = torch.tensor([[F, F, T, T, T, F, T], [T, F, T, F, F, T, T]])
    assert find_tensor_relation([(mask, ~mask)], 1e-5).name == "inverted"
    right = torch.tensor([0.31, 2.07, -1.4, 0.9])
    shifted = torch.cat([right[:1], right[:-1]])
    assert find_tensor_relation([(right, shifted)], 1e-5).name == "shifted_by_one"


def test_whole_numbers_in_another_dtype_have_to_be_the_same_numbers():
    right = torch.tensor([100, 3])
    assert find_tensor_relation([(right, torch.tensor([100.9, 3.0]))], 1e-5) is None
    assert find_tensor_relation([(right, torch.tensor([100.0, 3.0]))], 1e-5).name == "another_dtype"


def test_a_relation_of_one_entry_alone_says_which():
    def two(n, d):
        return n / d, d / n

    report = Report(diagnose(item_of(two), lambda n, d: (n / d, 1.96 * d / n)))
    assert report.misconception == "wrong_factor"
    assert "Only entry 1 of your result (entries count from 0) is wrong." in str(report)
    named = item_of(lambda n, d: {"rate": n / d, "other": d / n})
    report = Report(diagnose(named, lambda n, d: {"rate": n / d, "other": 1.96 * d / n}))
    assert "Only `other` is wrong. There: the right numbers, all multiplied by 1.96." in str(report)


def test_an_axis_that_is_there_and_not_repeated_is_not_called_missing():
    right = torch.rand(1, 1, 4, 4).expand(2, 1, 4, 4)
    assert find_tensor_relation([(right, right[:1])], 1e-5) is None
    assert find_tensor_relation([(right, right[0])], 1e-5).name == "axes_missing"


def test_an_axis_of_size_one_that_moved_is_not_called_lost():
    right = torch.tensor([[1.0], [2.0], [3.0]])
    assert "at another position" in find_tensor_relation([(right, right.T)], 1e-5).sentence


def test_of_nested_results_no_entry_is_named_by_the_number_of_a_tensor():
    def nested(n, d):
        return table(n, d), [table(d, n).cos(), table(n, d).tan()]

    def wrong(n, d):
        out, (first, second) = nested(n, d)
        return out, [first, 1.96 * second]

    text = str(Report(diagnose(item_of(nested), wrong)))
    assert "Only one of the tensors in your result is wrong." in text


def test_a_result_without_numbers_breaks_off_no_relation():
    right = torch.tensor([0.31, 2.07, -1.4, 0.9])
    pairs = [(right, right + 1), (torch.empty(0), torch.empty(0))]
    assert find_tensor_relation(pairs, 1e-5).name == "wrong_offset"
