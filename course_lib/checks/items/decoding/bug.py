"""12.bug: Words that nobody said."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe

BUG = """\
def beam_step(said, log_prob, logits, width):
    log_p = logits[:, -1].log_softmax(dim=-1)
    total = log_prob[:, None] + log_p
    log_prob, place = total.flatten().topk(width)
    beam, token = place // width, place % width
    said = torch.cat((said[beam], token[:, None]), dim=1)
    return said, log_prob
"""


Step = tuple[Tensor, Tensor]


def _step(
    said: Tensor,
    log_prob: Tensor,
    logits: Tensor,
    width: int,
    *,
    size: int,
    turned: bool = False,
    reordered: bool = True,
) -> Step:
    """The step, with the size of a row and what is done with the two numbers to choose."""
    total = log_prob[:, None] + logits[:, -1].log_softmax(dim=-1)
    log_prob, place = total.flatten().topk(width)
    beam, token = place // size, place % size
    if turned:
        beam, token = token, beam
    old = said[beam] if reordered else said
    return torch.cat((old, token[:, None]), dim=1), log_prob


def _beam_step(said: Tensor, log_prob: Tensor, logits: Tensor, width: int) -> Step:
    return _step(said, log_prob, logits, width, size=logits.size(-1))


def _beams(draw: Draw, beams: int, length: int, vocab: int, width: int) -> Call:
    said = draw.ids(beams, length, high=vocab - 1)
    said[:, -1] = torch.arange(beams)  # no two alike
    log_prob = -draw.normal(beams).abs()
    logits = draw.normal(beams, length, vocab)
    about = f"{beams} beams, {vocab} words, width {width}"
    return Call((said, log_prob, logits, width), about=about)


def _certain_heads(draw: Draw) -> Call:
    """The last beam is by far the likeliest: all that is kept continues it."""
    said, log_prob, logits, width = _beams(draw, 3, 4, 8, 3).args
    return Call(
        (said, log_prob - torch.tensor([50.0, 50.0, 0.0]), logits, width), about="one strong beam"
    )


item = Item(
    "12.bug",
    reference=_beam_step,
    bug=Bug(BUG, line=5),
    tolerance=1e-4,
    probes=[
        Probe(
            "each kept beam has the words of the one that it continues, and its own new one",
            lambda draw: [_beams(draw, 3, 4, 11, 3), _beams(draw, 4, 2, 6, 4)],
        ),
        Probe("the first step, with one beam", lambda draw: [_beams(draw, 1, 1, 9, 4)]),
        Probe(
            "several may continue one beam, and none another", lambda draw: [_certain_heads(draw)]
        ),
        Probe(
            "as many beams as words, and other widths than beams",
            lambda draw: [_beams(draw, 5, 3, 5, 5), _beams(draw, 2, 3, 7, 5)],
        ),
    ],
    hints=(
        "Take 2 beams and 3 words, and write down the six numbers of `total` in a row. Which beam "
        "does place 4 belong to, and which word?",
        "Flattening puts the rows of (W, V) one behind the other. How long is a row?",
        "Divide by the length of a row, log_p.size(...), not by the number of rows.",
    ),
)


@item.misconception(
    "The place in the flattened totals is still divided by the width.",
    why="A row of the totals holds one number for each word of the vocabulary. Divided by the "
    "width, words and beams get mixed up: with luck an IndexError, without it words that "
    "nobody said.",
    hint="The totals are (W, V). How far is it from one row to the next?",
)
def still_by_the_width(said: Tensor, log_prob: Tensor, logits: Tensor, width: int) -> Step:
    return _step(said, log_prob, logits, width, size=width)


@item.misconception(
    "The place is divided by the number of beams that came in.",
    why="That is how many rows there are, not how long they are.",
    hint="The totals are (W, V). How far is it from one row to the next?",
)
def by_the_number_of_beams(said: Tensor, log_prob: Tensor, logits: Tensor, width: int) -> Step:
    return _step(said, log_prob, logits, width, size=len(said))


@item.misconception(
    "Beam and token have changed places.",
    why="In a row of V numbers, the whole part of place / V says which row, the rest says where "
    "in it.",
    hint="Which of // and % gives the row?",
)
def the_other_way_round(said: Tensor, log_prob: Tensor, logits: Tensor, width: int) -> Step:
    return _step(said, log_prob, logits, width, size=logits.size(-1), turned=True)


@item.misconception(
    "The new words are put behind the old beams in their old order.",
    why="The first word kept may continue the last beam. Words then follow beginnings that they "
    "do not belong to.",
    hint="You found the wrong line. Line 6 was right, though: what does said[beam] do?",
)
def beams_not_reordered(said: Tensor, log_prob: Tensor, logits: Tensor, width: int) -> Step:
    return _step(said, log_prob, logits, width, size=logits.size(-1), reordered=False)


@item.misconception(
    "The log-probabilities of the beams are no longer added.",
    why="Only the newest word counts then, however unlikely its beginning is.",
    hint="You found the wrong line. What was line 3 for?",
)
def beams_not_weighed(said: Tensor, log_prob: Tensor, logits: Tensor, width: int) -> Step:
    return _beam_step(said, torch.zeros_like(log_prob), logits, width)
