"""Of an answer that has hardly begun, the plain fact is told, and no error of several."""

import pytest
import torch
from torch import nn

from course_lib.checks import load_item
from course_lib.checks.diagnosis.diagnose import diagnose
from course_lib.checks.report.feedback import Report


class Unchanged(nn.Module):
    """`PositionalEncoding` that adds nothing."""

    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()

    def forward(self, x):
        return x


def zeros(length, d_model):
    return torch.zeros(length, d_model)


def ones(length, d_model):
    return torch.ones(length, d_model)


def eye(length, d_model):
    return torch.eye(length, d_model)


@pytest.mark.parametrize(
    "item_id, subject, sentence",
    [
        ("01.sinusoidal_positions", zeros, "In every call, all numbers of your result are 0."),
        ("01.sinusoidal_positions", ones, "In every call, all numbers of your result are 1."),
        ("01.sinusoidal_positions", eye, "In every call, your result has ones on the diagonal"),
        (
            "01.shift_matrix",
            lambda d_model, offset: torch.eye(d_model),
            "In the first test, your result has ones on the diagonal and zeros elsewhere",
        ),
        ("01.positional_encoding", Unchanged, "In the first test, your result is `x`, unchanged."),
        ("04.merge_heads", lambda x: x, "In every call, your result is `x`, unchanged."),
    ],
)
def test_a_placeholder_is_told_as_what_it_is(item_id, subject, sentence):
    report = Report(diagnose(load_item(item_id), subject))
    assert not report.diagnosis.misconceptions and sentence in str(report)


def test_a_placeholder_that_is_a_known_misconception_has_its_name():
    report = Report(diagnose(load_item("02.embedding_std"), lambda d_model: 1.0))
    assert report.misconception == "as_pytorch_starts"


def test_a_result_of_the_wrong_type_is_told_before_its_numbers():
    report = Report(diagnose(load_item("02.bug"), lambda tokens, *others: tokens, line=1))
    assert report.misconception == "another_type"
