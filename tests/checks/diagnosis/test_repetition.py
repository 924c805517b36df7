"""A result that changes by itself is told as that, and by no name of an error."""

import pytest
import torch

from course_lib.checks import load_item
from course_lib.checks.diagnosis.diagnose import diagnose

found_before = []


def batches_kept(lengths, max_tokens, batches=[]):  # noqa: B006
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batches and (len(batches[-1]) + 1) * lengths[i] <= max_tokens:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def links_kept(weights):
    found_before.extend((int(row.argmax()), t) for t, row in enumerate(weights[:-1]))
    return set(found_before)


def shuffled_rows(tokens, pad_id):
    return (tokens[torch.randperm(len(tokens))] != pad_id)[:, None, None, :]


def inverted(tokens, pad_id):
    return (tokens == pad_id)[:, None, None, ::2]


def observed(item, subject):
    diagnosis = diagnose(load_item(item), subject)
    return diagnosis.observation and diagnosis.observation.name


@pytest.mark.slow
def test_what_is_kept_from_earlier_calls_is_told():
    assert observed("09.bucket", batches_kept) == "another_result"
    assert observed("14.align", links_kept) == "another_result"


def test_random_numbers_are_told():
    assert observed("06.padding_mask", shuffled_rows) == "another_result"


@pytest.mark.slow
def test_a_wrong_result_that_stays_the_same_is_not_told_as_one_that_changes():
    assert observed("06.padding_mask", inverted) != "another_result"


def test_a_result_that_may_be_random_is_not_told_as_one_that_changes():
    assert observed("02.embedding_std", lambda d_model: 1 / d_model) != "another_result"
