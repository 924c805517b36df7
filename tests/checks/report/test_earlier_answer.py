"""An answer that uses an earlier one is told to check that one first, if that is where it fails."""

import pytest
import torch

from course_lib.checks import check


@pytest.fixture(autouse=True)
def _progress_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))


NOTEBOOK = """
def padding_mask(tokens, pad_id):
    return (tokens != pad_id)[:, None, None, :]

def causal_mask(size):
    {causal}

def helper(size):
    return causal_mask(size)

def decoder_mask(tokens, pad_id):
    return padding_mask(tokens, pad_id) {operator} {name}(tokens.size(1))
"""
WRONG = "return torch.ones(1, 1, size, size, dtype=torch.bool).triu()"
RIGHT = "return torch.ones(1, 1, size, size, dtype=torch.bool).tril()"


def checked(causal, name="causal_mask", operator="&"):
    cells = {"torch": torch, "__name__": "__main__"}
    exec(NOTEBOOK.format(causal=causal, name=name, operator=operator), cells)
    return check("06.decoder_mask", cells["decoder_mask"])


@pytest.mark.parametrize("name", ["causal_mask", "helper"])
def test_a_wrong_earlier_answer_is_named_instead_of_what_follows_from_it(name):
    report = checked(WRONG, name)
    assert report.misconception == "earlier_answer"
    assert (
        "Your causal_mask (06.causal_mask) isn't right yet, and decoder_mask uses it: check that "
        "one first." in str(report)
    )
    assert "triangle" not in str(report)


def test_an_unwritten_earlier_answer_is_named():
    report = checked("raise NotImplementedError")
    assert report.diagnosis.status == "not yet"
    assert "Your causal_mask (06.causal_mask) isn't written yet" in str(report)


def test_a_right_earlier_answer_is_not_blamed():
    assert checked(RIGHT).passed
    assert checked(RIGHT, operator="|").misconception == "either_will_do"
