"""What a wrong result depends on is compared with what the right one depends on."""

import pytest
import torch
from torch import nn

from course_lib.checks.diagnosis.diagnose import diagnose
from course_lib.checks.engine.adapters import use_module
from course_lib.checks.engine.call import Call
from course_lib.checks.engine.item import Item, Probe
from course_lib.checks.report.feedback import Report

X = torch.arange(24.0).view(2, 3, 4).sin()
Y = torch.arange(24.0).view(2, 3, 4).cos()
HINTS = ("one", "two", "three")


def right(x, y, scale=2.0):
    return x.cumsum(1) * scale + y


def item_of(*calls):
    return Item(
        "06.padding_mask",
        reference=right,
        probes=[Probe("it is right", lambda draw: list(calls))],
        hints=HINTS,
    )


def test_a_result_of_one_number_is_told_only_if_every_wrong_result_is():
    def zeros_or_nan(x, y, scale=2.0):
        return 0 * x if scale == 2 else x / 0 * 0

    item = item_of(Call((X, Y)), Call((X, Y), {"scale": 3.0}))
    assert "all numbers are 0" not in str(Report(diagnose(item, zeros_or_nan)))


@pytest.mark.parametrize(
    "wrong, name, words",
    [
        (lambda x, y, scale=2.0: x.cumsum(1) * 5 + y, "no_effect", "when `scale` changes"),
        (
            lambda x, y, scale=2.0: 0 * x,
            "one_number",
            "In every call, all numbers of your result are 0.",
        ),
        (lambda x, y, scale=2.0: X[: len(x)] + 1, "no_effect", "when `x`, `y`, `scale` change"),
        (
            lambda x, y, scale=2.0: right(x, y, scale) + x.mean(0),
            "reaches_too_far",
            "When only `x[1]` changes, your result changes at `[0]`, too",
        ),
        (
            lambda x, y, scale=2.0: right(x, y, scale) + y.sum(1, keepdim=True),
            "reaches_too_far",
            "When only `y[:, 2]` changes, your result changes at `[:, 0]`, too",
        ),
        (
            lambda x, y, scale=2.0: x * scale + y,
            "does_not_reach",
            "When only `x[:, 0]` changes, your result stays the same at `[:, 1]`",
        ),
    ],
)
def test_what_a_result_depends_on_is_named(wrong, name, words):
    item = item_of(Call((X, Y)), Call((X, Y), {"scale": 3.0}), Call((X[:1], Y[:1], 0.5)))
    report = Report(diagnose(item, wrong))
    assert report.misconception == name and words in str(report)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x, y, scale=2.0: right(x, y, scale) ** 3,
        lambda x, y, scale=2.0: right(x, y, scale) / 0,
        lambda x, y, scale=2.0: (
            right(x, y, scale) if len(x) > 1 else (_ for _ in ()).throw(OSError)
        ),
    ],
)
def test_nothing_is_named_where_it_depends_as_it_should_or_there_is_nothing_to_compare(wrong):
    report = Report(diagnose(item_of(Call((X, Y)), Call((X[:1], Y[:1]))), wrong))
    assert report.misconception is None


def test_an_input_that_only_some_calls_show_to_matter_is_not_called_without_effect():
    def careless(x, y, scale=2.0):
        return right(x, y, scale if len(x) == 1 else 2.0)

    item = item_of(Call((X, Y), {"scale": 3.0}), Call((X[:1], Y[:1]), {"scale": 3.0}))
    assert "no effect" not in str(Report(diagnose(item, careless)))


def test_a_weight_that_is_never_used_is_named():
    class Two(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.first = nn.Linear(width, width)
            self.second = nn.Linear(width, width)

        def forward(self, x):
            return self.second(self.first(x))

    class Same(Two):
        def forward(self, x):
            return self.first(self.first(x))

    weights = {name: torch.randn(p.shape) for name, p in Two(4).named_parameters()}
    call = Call((X,), {"init": {"width": 4}, "weights": weights})
    probe = Probe("it is right", lambda draw: [call])
    item = Item("06.padding_mask", reference=Two, probes=[probe], hints=HINTS, use=use_module)
    assert "when `second.weight`, `second.bias` change" in str(Report(diagnose(item, Same)))


def test_an_integer_too_large_for_a_float_is_only_a_wrong_number():
    probe = Probe("it is right", lambda draw: [Call((3,)), Call((4,))])
    item = Item("06.padding_mask", reference=lambda n: n + 1, probes=[probe], hints=HINTS)
    report = Report(diagnose(item, lambda n: 10**400))
    assert not report.passed and report.misconception is None


def test_a_stop_while_the_courses_own_code_is_asked_again_ends_the_check():
    def first_right(x, y, scale=2.0):
        if asked_before:
            raise KeyboardInterrupt
        asked_before.append(1)
        return right(x, y, scale)

    asked_before = []
    item = item_of(Call((X, Y)))
    item.reference = first_right
    with pytest.raises(KeyboardInterrupt):
        diagnose(item, lambda x, y, scale=2.0: right(x, y, scale) ** 3)


def test_a_result_whose_lists_are_divided_otherwise_has_changed():
    def groups(x, size):
        return [x[i : i + size] for i in range(0, len(x), size)]

    def backwards(x, size):
        return groups(x, size)[::-1]

    item = Item(
        "06.padding_mask",
        reference=backwards,
        probes=[Probe("it is right", lambda draw: [Call(([1, 2, 3, 4, 5], 2))])],
        hints=HINTS,
    )
    found = diagnose(item, groups).observation
    assert found is None or "no effect" not in found.sentence
