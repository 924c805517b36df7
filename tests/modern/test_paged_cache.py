"""The paged cache gives back what was stored, and wastes less than a page a text."""

import random

import pytest
import torch

from course_lib.modern import PagedCache


def test_two_thousand_random_steps_equal_plain_lists():
    rng, cache, plain = random.Random(0), PagedCache(60, 8, 3), {}
    for step in range(2000):
        text = f"text {rng.randrange(12)}"
        if text in plain and rng.random() < 0.03:
            cache.release(text)
            del plain[text]
            continue
        if len(plain.get(text, [])) < 40:
            numbers = torch.full((3,), float(step))
            cache.append(text, numbers)
            plain.setdefault(text, []).append(numbers)
        assert 0 <= cache.wasted <= 7 * len(plain)
    for text, numbers in plain.items():
        assert torch.equal(cache.read(text), torch.stack(numbers))
    assert len(cache.free) == 60 - sum(-(-len(numbers) // 8) for numbers in plain.values())


def test_a_full_pool_says_so_and_loses_nothing():
    cache = PagedCache(1, 2, 1)
    for number in (1.0, 2.0):
        cache.append("a", torch.tensor([number]))
    with pytest.raises(
        MemoryError, match="all 1 pages are taken, and the last page of 'a' is full"
    ):
        cache.append("a", torch.tensor([3.0]))
    assert cache.read("a").flatten().tolist() == [1.0, 2.0]
    cache.release("a")
    cache.append("b", torch.tensor([4.0]))
    assert cache.read("b").tolist() == [[4.0]]


def test_a_text_that_is_not_there_is_a_key_error():
    cache = PagedCache(1, 2, 1)
    with pytest.raises(KeyError):
        cache.read("a")
    with pytest.raises(KeyError):
        cache.release("a")


def test_the_pool_has_the_dtype_that_was_asked_for():
    cache = PagedCache(1, 2, 1, dtype=torch.float16, device="meta")
    assert cache.pool.dtype == torch.float16 and cache.pool.device.type == "meta"


def test_a_pool_of_nothing_is_refused():
    with pytest.raises(ValueError, match="page_size must be at least 1, got 0"):
        PagedCache(1, 0, 1)
