"""Notebooks for the tests of this folder."""

import copy
from pathlib import Path

from course_lib.grading.jail.item_run import TimeLimits

ROOT = Path(__file__).resolve().parents[2]
SECRET = b"a secret of the tests"
SHORT = TimeLimits(cell=1.0, item=1.0, run=20.0)
RIGHT = {
    "06-padding-mask-answer": """\
def padding_mask(tokens, pad_id):
    return (tokens != pad_id)[:, None, None, :]
""",
    "06-causal-mask-answer": """\
def causal_mask(size):
    return torch.ones(1, 1, size, size, dtype=torch.bool).tril()
""",
    "06-decoder-mask-answer": """\
def decoder_mask(tokens, pad_id):
    return padding_mask(tokens, pad_id) & causal_mask(tokens.size(1))
""",
}
RIGHT_ITEMS = ("06.padding_mask", "06.causal_mask", "06.decoder_mask")  # what RIGHT answers


def answered(notebook, answers):
    """A copy of the notebook with these sources in the cells of these ids."""
    notebook = copy.deepcopy(notebook)
    for cell in notebook["cells"]:
        cell["source"] = answers.get(cell["id"], cell["source"])
    return notebook


def with_cell(notebook, source, *, after="imports", **cell):
    """A copy of the notebook with a code cell of the learner's own."""
    notebook = copy.deepcopy(notebook)
    ids = [cell["id"] for cell in notebook["cells"]]
    own = {"cell_type": "code", "id": "own", "metadata": {}, "source": source, "outputs": []}
    notebook["cells"].insert(ids.index(after) + 1, own | cell)
    return notebook


def item_of(result, item_id):
    """The result of one item."""
    return next(item for item in result.items if item.id == item_id)


def points(result):
    """The points of each item that has some."""
    return {item.id: item.points for item in result.items if item.points}
