"""Nothing that a report tells is false, of the learner's code or of the course."""

import re

import pytest
import torch
from torch import nn

from course_lib.checks import check, load_item, load_items
from course_lib.checks.diagnosis.error_causes import find_error_cause
from course_lib.checks.engine.call import Answer, describe_exception
from course_lib.checks.engine.compare import answers_differ
from course_lib.checks.table import TOPICS
from course_lib.model import count_parameters

TEXTS = {
    f"{item.id} {m.name}": f"{m.symptom} {m.why} {m.hint}"
    for number in TOPICS
    for item in load_items(number).values()
    for m in item.misconceptions
}


@pytest.fixture(autouse=True)
def _progress_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))


def powers_by_hand(scores, mask=None):
    powers = scores.exp() if mask is None else scores.exp().masked_fill(~mask, 0.0)
    return powers / powers.sum(dim=-1, keepdim=True)


class NoResidualAndDropoutLast(nn.Module):
    def __init__(self, d_model, dropout=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return self.dropout(self.norm(sublayer(x)))


class EditsItsInput(nn.Module):
    def __init__(self, d_model, dropout=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        x += self.dropout(sublayer(x))
        return self.norm(x)


def past_detached(attention, x, past):
    past = past and tuple(part.detach() for part in past)
    return load_item("13.cached_step").reference(attention, x, past)


def always_float32(logits, labels, pad_id):
    cost = -logits.float().log_softmax(dim=-1).gather(-1, labels[..., None])[..., 0]
    real = labels != pad_id
    return (cost * real).sum() / real.sum().clamp(min=1)


def test_the_call_to_try_is_one_of_the_test_with_the_cross_if_that_can_be_written_out():
    def inverted(tokens, pad_id):
        return (tokens == pad_id)[:, None, None, :]

    report = check("06.padding_mask", inverted)
    assert "this is a call that fails" in str(report)
    trial = report.diagnosis.most_telling_trial
    assert any(report.example.call is call for call in trial.calls)


@pytest.mark.parametrize(
    ("item", "subject"),
    [("13.cached_step", past_detached), ("06.masked_softmax", powers_by_hand)],
)
def test_the_call_to_try_shows_what_is_wrong_also_of_gradients(item, subject):
    example = check(item, subject).example
    assert answers_differ(Answer(example.expected), Answer(example.run(subject))) is not None


def test_the_call_to_try_shows_the_dtype_where_that_alone_is_wrong():
    text = str(check("10.masked_cross_entropy", always_float32))
    assert "# expected: torch.float64\n" in text and "# got: torch.float32" in text


def test_the_call_to_try_tells_of_an_argument_that_is_changed():
    assert "# your result, and an argument is changed" in str(check("03.add_norm", EditsItsInput))


def test_an_exponential_by_hand_and_a_division_by_nothing_are_two_errors():
    report = check("06.masked_softmax", powers_by_hand)
    assert report.misconception == "minus_infinity + powers_by_hand"


def test_where_no_number_could_be_compared_nothing_is_told_of_numbers():
    text = str(check("08.count_parameters", lambda config: float(count_parameters(config))))
    assert "Your count is a float" in text and "No number of yours could be compared yet" in text
    assert "gives the same numbers" not in text and "perhaps for the same reason" in text


def test_where_training_mode_could_not_be_compared_the_report_says_so():
    text = str(check("03.add_norm", NoResidualAndDropoutLast))
    assert "you don't add x" in text and "check again then" in text
    assert "perhaps for the same reason" in text


def test_too_large_a_k_of_topk_is_no_index():
    with pytest.raises(RuntimeError) as error:
        torch.zeros(3).topk(5)
    name, meaning = find_error_cause(describe_exception(error.value))
    assert name == "too_many_asked_for" and "`topk`" in meaning


@pytest.mark.parametrize(
    "claim",
    [
        "published systems pads with",  # its pad_id is 1, and its batches are padded with 0
        "so the first two columns are right",
        "adding a constant to all of them",
    ],
)
def test_no_text_makes_a_claim_that_was_found_false(claim):
    assert [name for name, text in TEXTS.items() if re.search(claim, text)] == []
