"""A function that passes is told how many operations on tensors it makes, beside the course's."""

import pytest
import torch

from course_lib.checks import check


@pytest.fixture(autouse=True)
def _progress_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))


def by_comparison(tokens, pad_id):
    return (tokens != pad_id)[:, None, None, :]


def by_loops(tokens, pad_id):
    mask = torch.zeros(len(tokens), 1, 1, tokens.size(1), dtype=torch.bool)
    for b, sentence in enumerate(tokens.tolist()):
        for s, token in enumerate(sentence):
            mask[b, 0, 0, s] = torch.tensor(token != pad_id)
    return mask


def told(item, function):
    report = check(item, function)
    assert report.passed, str(report)
    return str(report)


def by_two_comparisons(tokens, pad_id):
    return ((tokens < pad_id) | (tokens > pad_id))[:, None, None, :]


def test_as_many_operations_as_the_course_are_not_told():
    assert "Worth knowing" not in told("06.padding_mask", by_comparison)


def test_a_few_more_operations_are_told_plainly():
    text = told("06.padding_mask", by_two_comparisons)
    assert "your code makes 4 operations on tensors, and the course's 2." in text
    assert "loop" not in text


def test_a_loop_is_asked_about():
    text = told("06.padding_mask", by_loops)
    assert "Which loop could one operation on whole tensors replace?" in text


def test_an_answer_that_fails_is_not_told():
    report = check("06.padding_mask", lambda tokens, pad_id: by_comparison(tokens, pad_id + 1))
    assert not report.passed and "operations on tensors" not in str(report)


def test_of_an_answer_without_tensors_nothing_is_told():
    def inverse_sqrt_lr(step, d_model, warmup):
        return min(step**-0.5, step * warmup**-1.5) * d_model**-0.5

    assert "Worth knowing" not in told("11.inverse_sqrt_lr", inverse_sqrt_lr)


def test_an_attribute_is_no_operation():
    def transposed(tokens, pad_id):
        return (pad_id != tokens.T.T)[:, None, None, :]

    assert "Worth knowing" not in told("06.padding_mask", transposed)
