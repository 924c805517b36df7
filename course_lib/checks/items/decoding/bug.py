"""13.bug: a beam step that mixes up beams and tokens."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.checks.engine import Bug, Call, Draw, Item, Probe

BUG = """\
def beam_step(prefixes, log_prob, logits, width):
    log_p = logits[:, -1].log_softmax(dim=-1)
    total = log_prob[:, None] + log_p
    log_prob, index = total.flatten().topk(width)
    beam, token = index // width, index % width
    prefixes = torch.cat((prefixes[beam], token[:, None]), dim=1)
    return prefixes, log_prob
"""


Step = tuple[Tensor, Tensor]


def _step(
    prefixes: Tensor,
    log_prob: Tensor,
    logits: Tensor,
    width: int,
    *,
    size: int,
    swapped: bool = False,
    reordered: bool = True,
) -> Step:
    """One step, with a choice of row length, of beam and token swapped, and of reordering."""
    total = log_prob[:, None] + logits[:, -1].log_softmax(dim=-1)
    log_prob, index = total.flatten().topk(width)
    beam, token = index // size, index % size
    if swapped:
        beam, token = token, beam
    old = prefixes[beam] if reordered else prefixes
    return torch.cat((old, token[:, None]), dim=1), log_prob


def _beam_step(prefixes: Tensor, log_prob: Tensor, logits: Tensor, width: int) -> Step:
    return _step(prefixes, log_prob, logits, width, size=logits.size(-1))


def _beams(draw: Draw, beams: int, length: int, vocab: int, width: int) -> Call:
    prefixes = draw.ids(beams, length, high=vocab - 1)
    prefixes[:, -1] = torch.arange(beams)  # no two are equal
    log_prob = -draw.normal(beams).abs()
    logits = draw.normal(beams, length, vocab)
    about = f"{beams} beam{'s' * (beams > 1)}, {vocab} tokens in the vocabulary, width {width}"
    return Call((prefixes, log_prob, logits, width), about=about)


def _one_strong_beam(draw: Draw) -> Call:
    """The last beam is by far the most probable: all beams kept continue it."""
    prefixes, log_prob, logits, width = _beams(draw, 3, 4, 8, 3).args
    return Call(
        (prefixes, log_prob - torch.tensor([50.0, 50.0, 0.0]), logits, width),
        about="one strong beam",
    )


item = Item(
    "13.bug",
    reference=_beam_step,
    bug=Bug(BUG, line=5),
    tolerance=1e-4,
    probes=[
        Probe(
            "each new beam has the tokens of the one it continues, plus its own new token",
            lambda draw: [_beams(draw, 3, 4, 11, 3), _beams(draw, 4, 2, 6, 4)],
        ),
        Probe("the first step, with one beam", lambda draw: [_beams(draw, 1, 1, 9, 4)]),
        Probe(
            "several may continue one beam, and none another", lambda draw: [_one_strong_beam(draw)]
        ),
        Probe(
            "as many beams as tokens in the vocabulary, and a width other than the number of beams",
            lambda draw: [_beams(draw, 5, 3, 5, 5), _beams(draw, 2, 3, 7, 5)],
        ),
    ],
    hints=(
        "Take 2 beams and a vocabulary of 3, and write down the six numbers of `total` in one row. "
        "Which beam does index 4 belong to, and which token?",
        "Flattening (W, V) puts its rows one after the other. How long is a row?",
        "In a table with rows of 3 numbers, index 4 lies in row 4 // 3 = 1, and in column 4 % 3 = "
        "1. How long are the rows of `total`, and what does the function divide by?",
    ),
)


@item.misconception(
    "The index into the flattened totals is still divided by the width.",
    why="A row of the totals has one number for each token of the vocabulary. If you divide by "
    "the width, beams and tokens get mixed up. With luck you get an IndexError; otherwise you get "
    "tokens that the model never predicted.",
    hint="The totals are (W, V). How far is it from one row to the next?",
)
def still_by_the_width(prefixes: Tensor, log_prob: Tensor, logits: Tensor, width: int) -> Step:
    return _step(prefixes, log_prob, logits, width, size=width)


@item.misconception(
    "The index is divided by the number of beams that came in.",
    why="That is how many rows there are, not how long they are.",
    hint="The totals are (W, V). How far is it from one row to the next?",
)
def by_the_number_of_beams(prefixes: Tensor, log_prob: Tensor, logits: Tensor, width: int) -> Step:
    return _step(prefixes, log_prob, logits, width, size=len(prefixes))


@item.misconception(
    "Beam and token are swapped.",
    why="With V numbers in a row, index // V is the row, and index % V is the column.",
    hint="For 2 beams and 3 tokens, which row and which column does index 4 belong to?",
)
def the_other_way_round(prefixes: Tensor, log_prob: Tensor, logits: Tensor, width: int) -> Step:
    return _step(prefixes, log_prob, logits, width, size=logits.size(-1), swapped=True)


@item.misconception(
    "The new tokens are appended to the old beams in their old order.",
    why="The best continuation may belong to the last beam. Then tokens get appended to prefixes "
    "they don't belong to.",
    hint="Line 6 of the given code was right: why does it index with beam?",
)
def beams_not_reordered(prefixes: Tensor, log_prob: Tensor, logits: Tensor, width: int) -> Step:
    return _step(prefixes, log_prob, logits, width, size=logits.size(-1), reordered=False)


@item.misconception(
    "The log-probabilities of the beams are no longer added.",
    why="Then only the last token counts, however improbable its prefix is.",
    hint="What was line 3 of the given code for?",
)
def beams_not_weighed(prefixes: Tensor, log_prob: Tensor, logits: Tensor, width: int) -> Step:
    return _beam_step(prefixes, torch.zeros_like(log_prob), logits, width)


@item.misconception(
    "The beams are right now, but the tokens are still the remainder of a division by the width.",
    why="Row and column of an index belong together: each needs the length of a row.",
    hint="Line 5 uses the same number twice. Did you change it both times?",
)
def only_the_beam(prefixes: Tensor, log_prob: Tensor, logits: Tensor, width: int) -> Step:
    total = log_prob[:, None] + logits[:, -1].log_softmax(dim=-1)
    log_prob, index = total.flatten().topk(width)
    beam, token = index // logits.size(-1), index % width
    return torch.cat((prefixes[beam], token[:, None]), dim=1), log_prob
