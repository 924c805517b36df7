"""What counts as not started, and what a strange result or an early end leaves behind."""

from typing import ClassVar

import pytest
import torch
from torch import nn

from course_lib.checks import load_item, load_items
from course_lib.checks.diagnosis import diagnose as diagnose_module
from course_lib.checks.diagnosis.diagnose import diagnose
from course_lib.checks.engine.call import Call
from course_lib.checks.engine.item import Item, Probe
from course_lib.checks.report.feedback import Report
from course_lib.checks.table import TOPICS
from course_lib.model import masks

MODULES = [
    item
    for number in TOPICS
    for item in load_items(number).values()
    if isinstance(item.reference, type)
]


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        raise NotImplementedError


class Untouched(nn.Module):
    def __init__(self, *args, **kwargs):
        super().__init__()
        raise NotImplementedError


def causal_mask(size):
    raise NotImplementedError


def decoder_mask(tokens, pad_id):
    return masks.padding_mask(tokens, pad_id) & causal_mask(tokens.size(1))


def unwritten():
    raise NotImplementedError


def unwritten_fix(query, key, source, pad_id):
    raise NotImplementedError


def test_an_answer_that_calls_an_unwritten_function_is_started_and_told_which():
    report = Report(diagnose(load_item("06.decoder_mask"), decoder_mask))
    assert report.diagnosis.status == "not yet"
    assert "`causal_mask` isn't written yet." in str(report)
    assert "Replace" not in str(report) and "Try it" not in str(report)


def test_a_class_whose_constructor_is_written_is_started_and_told_which_method_is_not():
    report = Report(diagnose(load_item("03.feed_forward"), FeedForward))
    assert report.diagnosis.status == "not yet"
    assert "`FeedForward.forward` isn't written yet." in str(report)


@pytest.mark.parametrize("item", MODULES, ids=lambda item: item.id)
def test_a_class_that_raises_where_the_notebook_does_is_not_started(item):
    def forward(self, *args, **kwargs):
        raise NotImplementedError

    space = {"__init__": item.reference.__init__, "forward": forward}
    forward.__qualname__ = "Given.forward"
    forward.__code__ = forward.__code__.replace(co_qualname="Given.forward")
    given = type("Given", (item.reference,), space)
    subject = given if item.constructor_given else Untouched
    assert diagnose(item, subject, line=unwritten).status == "not started"


def test_a_bug_whose_line_is_named_is_started():
    item = load_item("06.bug")
    report = Report(diagnose(item, unwritten_fix, line=lambda: item.bug.line))
    assert report.diagnosis.status == "not yet"
    assert "You found it: line 5." in str(report)
    assert "`unwritten_fix` isn't written yet." in str(report)
    assert diagnose(item, unwritten_fix, line=unwritten).status == "not started"


class Bar:
    """What stands for tqdm's bar."""

    bars: ClassVar = []

    def __init__(self, total, **options):
        self.total, self.n, self.closed_at = total, 0, None
        Bar.bars.append(self)

    def update(self):
        self.n += 1

    def close(self):
        self.closed_at = self.n, self.total


def stops_at_once(tokens, pad_id):
    raise KeyboardInterrupt


@pytest.mark.parametrize("subject", [unwritten_fix, stops_at_once, masks.padding_mask])
def test_a_progress_bar_is_closed_as_complete_however_a_check_ends(subject, monkeypatch):
    monkeypatch.setattr(diagnose_module, "tqdm", Bar)
    Bar.bars.clear()
    diagnose(load_item("06.padding_mask"), subject)
    (bar,) = Bar.bars
    done, total = bar.closed_at
    assert done == total


def test_an_observation_that_fails_is_none_and_changes_no_mark(monkeypatch):
    def breaks(*args, **kwargs):
        raise RuntimeError("strange")

    searches = (
        "misconceptions_in first_of_several find_relation find_dependence find_first_sublayer"
    )
    for name in searches.split():
        monkeypatch.setattr(diagnose_module, name, breaks)
    monkeypatch.setattr(diagnose_module, "describe_first_difference", breaks)
    monkeypatch.setattr(diagnose_module, "ERRORS_END_A_SEARCH", True)
    report = Report(diagnose(load_item("06.padding_mask"), lambda tokens, pad_id: tokens != 3))
    assert report.diagnosis.status == "not yet" and "The result is wrong" in str(report)


STRANGE = [
    lambda x: x.to(torch.uint16),
    lambda x: x.to(torch.float8_e4m3fn),
    lambda x: x.to(torch.complex64),
    lambda x: torch.empty(0),
    lambda x: torch.empty(0, 3, 5),
    lambda x: {"a": x, 3: [x, None]},
    lambda x: [x, [x, {"b": float("nan")}]],
    lambda x: 10**400,
    lambda x: x.numpy(),
    lambda x: iter(x),
    lambda x: x.to("meta"),
    lambda x: x.to_sparse(),
    lambda x: "text",
    lambda x: x.bool(),
    lambda x: x * float("inf"),
    lambda x: torch.zeros(()),
    lambda x: (x, x.long(), 3),
    lambda x: print,
    lambda x: [[], ()],
]


@pytest.mark.parametrize("wrong", STRANGE)
@pytest.mark.parametrize(
    "reference",
    [
        lambda x: x.sin(),
        lambda x: (x.sin(), 3),
        lambda x: x[0, 0].tolist(),
        lambda x: {"a": 0.5, "b": x > 0},
        lambda x: x.long(),
    ],
)
def test_no_observation_breaks_off_on_a_strange_result(wrong, reference):
    calls = [Call((torch.rand(2, 3, 5),)), Call((torch.rand(2, 4, 5),))]
    probe = Probe("it is right", lambda draw: calls)
    item = Item("06.padding_mask", reference=reference, probes=[probe], hints=("", "", ""))
    report = Report(diagnose(item, wrong))
    shown = f"{report}{report._repr_html_()}"
    assert not report.passed and "Unusual" not in shown and "Failure(" not in shown


def test_what_an_exception_means_is_not_replaced_by_where_numbers_differ(monkeypatch):
    monkeypatch.setattr(diagnose_module, "find_first_sublayer", lambda *args, **options: "HERE")

    def fails(tokens, pad_id):
        return torch.linalg.cholesky(-torch.eye(tokens.size(1)))

    assert "HERE" not in str(Report(diagnose(load_item("06.padding_mask"), fails)))
