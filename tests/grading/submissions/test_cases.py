"""Test cases as an answer, in grading: right ones earn their points, and no trick does."""

from dataclasses import replace

import pytest

from tests.grading.notebooks_to_hand_in import answered, points
from tests.item_points import in_full

RIGHT = """\
def cases():
    first = torch.tensor([[0, math.log(3), 5], [1, 1, 1]])
    mask = torch.tensor([[True, True, False], [False, False, False]])
    weights = torch.tensor([[0.25, 0.75, 0], [0, 0, 0]])
    low = (torch.tensor([[-1e6, -1e6, 0]]), torch.tensor([[True, True, False]]))
    return [((first, mask), weights), (low, torch.tensor([[0.5, 0.5, 0]]))]
"""
# Each is what the answer returns; the right cases have another name.
RETURNED = {
    "nothing": "[]",
    "one case": "right()[:1]",
    "what a version gives": "[(args, six['a'](*args)) for args, _ in right()]",
    "what all versions give": "[(args, six[name](*args)) for name in six for args, _ in right()]",
    "a third case": "[*right(), ((torch.zeros(1, 1), None), torch.ones(1, 1))]",
    "other weights": "[(args, weights + 1) for args, weights in right()]",
    "no numbers": "[(args, weights * float('nan')) for args, weights in right()]",
    "what equals everything": "[(args, Same()) for args, _ in right()]",
    "a tensor that equals everything": "[(args, (w + 9).as_subclass(Like)) for args, w in right()]",
    "a list that equals everything": "SameList([((torch.zeros(1, 1), None), 1)])",
    "numbers without end": "[((torch.zeros(10**4, 10**4), None), 0)]",
    "numbers that are one": "[((torch.zeros(1, 1).expand(10**6, 10**6), None), 0)]",
    "a list in itself": "itself",
    "a generator": "(case for case in right())",
    "sparse scores": "[((args[0].to_sparse(), args[1]), w) for args, w in right()]",
    "scores on no device": "[((args[0].to('meta'), args[1]), w) for args, w in right()]",
    "scores that are no numbers": "[((a / 0 * 0, m), w / 0 * 0) for (a, m), w in right()]",
    "arguments of another function": "[((torch.zeros(2, 3).long(), 0), 0)]",
    "another case at each call": "[right()[(turn.append(1) or len(turn)) % 2]]",
    "an error": "1 / 0",
    "nothing, since the process ends": "os._exit(0)",
    "nothing, since it never ends": "[None for _ in iter(int, 1)]",
}
AROUND = """\
import os
right, turn, itself = cases, [], []
itself.append(itself)

class Same:
    __hash__ = None
    def __eq__(self, other):
        return True

class SameList(Same, list):
    def __len__(self):
        return 1

class Like(torch.Tensor):
    def __eq__(self, other):
        return torch.tensor(True)

def cases():
    return RETURNED
"""


@pytest.fixture(scope="module")
def only_cases(masks):
    tasks = tuple(task for task in masks.tasks if task.entry.id == "06.cases")
    return replace(masks, tasks=tasks)


def with_cases(notebook, source):
    return answered(notebook, {"06-cases-answer": source})


@pytest.mark.slow
def test_right_cases_earn_their_points(graded, notebook, only_cases):
    assert points(graded(with_cases(notebook, RIGHT), only_cases)) == in_full("06.cases")


@pytest.mark.slow
@pytest.mark.parametrize("name", RETURNED)
def test_a_trick_earns_nothing(name, graded, notebook, only_cases):
    source = f"{RIGHT}\n{AROUND.replace('RETURNED', RETURNED[name])}"
    result = graded(with_cases(notebook, source), only_cases)
    assert points(result) == {}
    assert result.items
