"""No test of an item takes NaN, infinity, nothing, or another type for a right result."""

import math

import pytest
import torch
from torch import Tensor
from torch.utils import _pytree as tree

from course_lib.checks import load_items
from course_lib.checks.diagnosis.diagnose import SEED
from course_lib.checks.diagnosis.trial import compare_answers, expected_answers
from course_lib.checks.engine.call import Answer
from course_lib.checks.table import TOPICS

ITEMS = [item for number in TOPICS for item in load_items(number).values()]


def strange_tensors(x):
    """What could stand in a result in place of this tensor, by name."""
    yield "None", None
    yield "no elements", x.new_empty(0)
    yield "another dtype", x.to(torch.float64 if x.dtype != torch.float64 else torch.float32)
    if x.is_floating_point() and x.isfinite().all() and x.numel():
        for value in (math.nan, math.inf, -math.inf):
            yield f"all {value}", torch.full_like(x, value)
            one, all_but_one = x.clone(), torch.full_like(x, value)
            one.view(-1)[-1] = value
            all_but_one.view(-1)[0] = x.view(-1)[0]
            if x.numel() > 1:
                yield f"one {value}", one
                yield f"all but one {value}", all_but_one


def strange_numbers(x):
    yield "None", None
    yield "text", str(x)
    yield "no elements", torch.empty(0)
    if math.isfinite(x):
        yield from ((str(value), value) for value in (math.nan, math.inf, -math.inf))


def strange_results(value):
    """The result with one entry replaced, for each entry and each strange value."""
    leaves, structure = tree.tree_flatten(value)
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor):
            others = strange_tensors(leaf.contiguous())
        elif isinstance(leaf, (int, float)):
            others = strange_numbers(leaf)
        else:
            others = [("another value", 17)]
        for name, other in others:
            changed = [*leaves[:i], other, *leaves[i + 1 :]]
            yield f"entry {i}: {name}", tree.tree_unflatten(changed, structure)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_no_probe_takes_a_strange_value_for_a_right_result(item):
    taken, tried = [], 0
    for i, probe in enumerate(item.probes):
        calls, expected = expected_answers(probe, item, seed=SEED + i)
        compared = {"calls": calls, "expected": expected}
        assert compare_answers(probe, item, **compared, answers=expected) is None
        for j, right in enumerate(expected):
            if right.failure:
                continue
            for name, value in strange_results(right.value):
                answers = [*expected[:j], Answer(value), *expected[j + 1 :]]
                difference = compare_answers(probe, item, **compared, answers=answers)
                tried += 1
                if difference is None:
                    taken.append(f"{probe.property!r}, call {j}, {name}")
    assert tried >= 3 * len(item.probes)
    assert not taken, "\n".join(taken)
