"""17.rotate: Position without adding."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.modern import rotary as modern


def _rotate(
    draw: Draw, *shape: int, about: str, positions: Tensor | None = None, **kwargs: float
) -> Call:
    positions = torch.arange(shape[2]) if positions is None else positions
    return Call((draw.normal(*shape), positions), kwargs, about=about)


def _in_16_bits() -> Call:
    """Pairs of (1, 0), of which a right answer needs no sum in bfloat16."""
    x = torch.tensor([1.0, 1.0, 0.0, 0.0]).expand(1, 1, 2, 4).bfloat16()
    return Call((x, torch.tensor([301, 4099])), about="far positions, bfloat16")


def _by_hand() -> Call:
    """Two pairs of (1, 0) at positions 0, 1 and 2: the frequencies are 1 and 0.01."""
    x = torch.tensor([1.0, 1.0, 0.0, 0.0]).expand(1, 1, 3, 4).clone()
    return Call((x, torch.arange(3)), about="pairs of (1, 0): the result is cosines and sines")


item = Item(
    "17.rotate",
    reference=modern.rotate,
    tolerance=1e-3,
    probes=[
        Probe(
            "each pair (i, i + E/2) is turned by position times frequency",
            lambda draw: [
                _by_hand(),
                _rotate(draw, 2, 3, 5, 8, about="four frequencies"),
                _rotate(draw, 1, 2, 4, 2, about="a single pair"),
            ],
        ),
        Probe(
            "a pair keeps its length, and position 0 changes nothing",
            lambda draw: [
                _rotate(draw, 1, 2, 1, 6, about="one token at position 0"),
                _rotate(draw, 2, 2, 7, 16, about="eight frequencies"),
            ],
        ),
        Probe(
            "the positions are those that are given",
            lambda draw: [
                _rotate(
                    draw,
                    *(1, 2, 1, 8),
                    about="one new token behind a cache",
                    positions=torch.tensor([draw.integer(5, 40)]),
                ),
                _rotate(
                    draw,
                    *(2, 2, 3, 8),
                    about="positions that aren't neighbours",
                    positions=torch.tensor([draw.integer(20, 30), 3, 11]),
                ),
                # bfloat16 rounds 301, and float16 4099. The fastest of two frequencies is 1, and
                # the other so slow that angles in float32 are exact enough.
                _rotate(
                    draw,
                    *(1, 2, 2, 4),
                    about="far positions",
                    positions=torch.tensor([301, 4099]),
                ),
                _in_16_bits(),
            ],
        ),
        Probe(
            "the base decides the frequencies",
            lambda draw: [
                _rotate(draw, 1, 2, 6, 8, about="base 100", base=100.0),
                _rotate(
                    draw,
                    *(1, 1, 2, 16),
                    about="base 500,000, far positions",
                    positions=torch.tensor([301, 1003]),
                    base=500_000.0,
                ),
            ],
        ),
        Probe(
            "heads and sentences are turned alike, whatever the sizes are",
            lambda draw: [
                _rotate(draw, 4, 4, 4, 4, about="all sizes equal"),
                _rotate(draw, 3, 1, 5, 6, about="a single head, three frequencies"),
                Call(
                    (draw.strided(2, 3, 6, 4), torch.arange(6)),
                    about="a tensor that is not contiguous",
                ),
                Call(
                    (draw.normal(1, 2, 3, 4, dtype=torch.float64), torch.arange(3)),
                    about="float64",
                ),
            ],
        ),
        Probe(
            "the gradient flows through the rotation",
            lambda draw: [
                Call((draw.normal(1, 2, 3, 4), torch.arange(3)), about="gradient", gradients=True)
            ],
        ),
    ],
    hints=(
        "The frequencies are those of lesson 01, with E in place of d_model. How many are there, "
        "and how many angles does a token have?",
        "Compute the angles, one row for each position and one column for each pair, and then "
        "their cosines and sines. Cut the features into two halves: the two numbers of a pair are "
        "at the same index of the two. Turn all pairs at once, and put the halves together again.",
        "By the angle a, the point (1, 0) is turned to (cos a, sin a), and (0, 1) to (-sin a, "
        "cos a). What becomes of (u, v), which is u times the one plus v times the other? "
        "torch.arange(6).chunk(2) gives two halves, and torch.cat joins them.",
    ),
)


@item.switchable
def rotate_with(on: frozenset[str]) -> Callable[..., Tensor]:
    """An answer with these misconceptions."""

    def answer(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
        if "before_the_heads" in on:
            wide = x.transpose(1, 2).flatten(2)[:, None]  # (batch, 1, length, heads · d_head)
            turned = turn(wide, positions, base)[:, 0]
            return turned.unflatten(-1, (x.size(1), x.size(3))).transpose(1, 2)
        return turn(x, positions, base)

    def turn(x: Tensor, positions: Tensor, base: float) -> Tensor:
        cos, sin = waves(angles(positions, x, base), x)
        if "two_layouts" in on:  # angles for neighbours, features in halves
            first, second = x.chunk(2, dim=-1)
            cos, sin = cos.repeat_interleave(2, dim=-1), sin.repeat_interleave(2, dim=-1)
            return x * cos + torch.cat((-second, first), dim=-1) * sin
        if "two_layouts_the_other_way" in on:
            first, second = x[..., 0::2], x[..., 1::2]
            cos, sin = torch.cat((cos, cos), dim=-1), torch.cat((sin, sin), dim=-1)
            return x * cos + torch.stack((-second, first), dim=-1).flatten(-2) * sin
        first, second = pairs(x)
        if "no_minus" in on:
            first, second = first * cos + second * sin, first * sin + second * cos
        elif "both_minus" in on:
            first, second = first * cos - second * sin, second * cos - first * sin
        elif "added" in on:
            first, second = first + sin, second + cos
        elif "only_cosines" in on:
            first, second = first * cos, second * cos
        elif "one_half_alone" in on:
            first = first * cos - second * sin
        elif "already_changed" in on:
            first = first * cos - second * sin
            second = first * sin + second * cos
        else:
            first, second = first * cos - second * sin, first * sin + second * cos
        turned = joined(first, second)
        return x.copy_(turned) if "edits_its_input" in on else turned

    def pairs(x: Tensor) -> tuple[Tensor, Tensor]:
        if "pairs_side_by_side" in on or "in_from_pairs" in on:
            return x[..., 0::2], x[..., 1::2]
        first, second = x.chunk(2, dim=-1)
        return first, second

    def joined(first: Tensor, second: Tensor) -> Tensor:
        if "pairs_side_by_side" in on or "out_in_pairs" in on:
            return torch.stack((first, second), dim=-1).flatten(-2)
        if "halves_exchanged" in on:
            first, second = second, first
        return torch.cat((first, second), dim=-1)

    def angles(positions: Tensor, x: Tensor, base: float) -> Tensor:
        width, dtype = x.size(-1), x.dtype if "angles_in_16_bits" in on else torch.float64
        at = positions.to(dtype)
        if "positions_ignored" in on:
            at = torch.arange(len(positions)).to(dtype)
        if "counted_from_the_first" in on:
            at = at - at[0]
        if "positions_from_one" in on:
            at = at + 1
        base = 10_000.0 if "base_ignored" in on else base
        index = torch.arange(width // 2).to(dtype)
        factor = 1 if "half_the_exponent" in on else 4 if "twice_the_exponent" in on else 2
        if "one_speed_for_all" in on:
            factor = 0
        sign = 1 if "frequencies_rise" in on else -1
        exponents = factor * index / (1 if "width_left_out" in on else width)
        angles = at[:, None] * base ** (sign * exponents)
        return 2 * math.pi * angles if "turns_for_radians" in on else angles

    def waves(angles: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        if "turns_backwards" in on:
            angles = -angles
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        if "heads_for_positions" in on:
            cos, sin = cos[:, None], sin[:, None]
        return (sin, cos) if "sine_for_cosine" in on else (cos, sin)

    return answer


item.switch(
    "pairs_side_by_side",
    "Your pairs are neighbours, (2i, 2i + 1); this task pairs i with i + E/2.",
    why="Both are rotations, and with weights trained for it, either is right. But weights that "
    "were trained with one layout don't work with the other, and no shape shows it.",
    hint="Which two features does the slowest frequency turn, in the task and in your code?",
)
item.switch(
    "in_from_pairs",
    "You take neighbours as pairs, and put the results into two halves.",
    why="Then the features come out in another order than they went in. Queries and keys still "
    "agree with one another, but position 0 doesn't leave a vector as it is.",
    hint="What should come out at position 0? Cut and join have to fit together.",
)
item.switch(
    "out_in_pairs",
    "You cut the features into halves, and put the results together as neighbours.",
    why="Then the features come out in another order than they went in, so that position 0 "
    "doesn't leave a vector as it is.",
    hint="What should come out at position 0? Cut and join have to fit together.",
)
item.switch(
    "two_layouts",
    "You mix the two layouts: your angles are laid out for one, and your features for the other.",
    why="Then the two numbers of a pair are turned by different angles, which is no rotation, and "
    "scores depend on more than the distance. repeat_interleave puts equal angles side by side, "
    "cat puts them half a head apart.",
    hint="For E = 4, write down which of the two angles each of the four features gets, and which "
    "feature it is mixed with. Do partners have the same angle?",
    spellings=["two_layouts_the_other_way"],
)
item.switch(
    "turns_backwards",
    "You turn in the other direction.",
    why="The formula turns (1, 0) to (cos a, sin a). Scores are the same if queries and keys are "
    "both turned backwards, but the course's weights, and everybody else's code, turn forwards.",
    hint="Try a single pair (1, 0) at position 1: is its second number sin 1 or -sin 1?",
)
item.switch(
    "no_minus",
    "The minus is missing: both of your sums are plus.",
    why="Then it isn't a rotation: pairs change their length, and scores depend on where the two "
    "tokens are, not only on their distance.",
    hint="By a quarter turn, (0, 1) becomes (-1, 0). Where does the minus come from?",
)
item.switch(
    "both_minus",
    "Both of your sums have a minus.",
    why="Then it isn't a rotation: pairs change their length, and scores depend on where the two "
    "tokens are, not only on their distance.",
    hint="By a quarter turn, (1, 0) becomes (0, 1). Which sign has the sine in the second number?",
)
item.switch(
    "angles_in_16_bits",
    "Your angles are computed in the dtype of x, and bfloat16 rounds far positions.",
    why="bfloat16 keeps eight binary digits, so 301 becomes 302 and 4099 becomes 4096: the fastest "
    "pair is turned by several radians too much or too little. Trained models read the start of a "
    "text well and its end badly.",
    hint="What is torch.tensor(4099).bfloat16()? When, at the latest, may the dtype of x come in?",
)
item.switch(
    "sine_for_cosine",
    "Sines stand where cosines belong, and the other way round.",
    why="At position 0, every angle is 0 and nothing should change: the factor of the number "
    "itself has to be 1 there.",
    hint="What should your function do to a token at position 0?",
)
item.switch(
    "halves_exchanged",
    "Your two halves come out in the wrong order.",
    why="Position 0 should leave a vector as it is. Yours exchanges its halves.",
    hint="Which half of the result holds u cos a - v sin a?",
)
item.switch(
    "half_the_exponent",
    "Each of your frequencies is the square root of what it should be.",
    why="The exponent of the base should be 2i / E; yours amounts to i / E. The slowest pairs then "
    "turn far too fast.",
    hint="For E = 4 and base 10,000 the frequencies should be 1 and 0.01. Does your index go in "
    "steps of one or of two?",
)
item.switch(
    "twice_the_exponent",
    "Each of your frequencies is the square of what it should be.",
    why="The exponent of the base should be 2i / E; yours amounts to 4i / E. About half of the "
    "pairs then hardly turn at all.",
    hint="For E = 4 and base 10,000 the frequencies should be 1 and 0.01. If your index goes in "
    "steps of two, it is already 2i. And is your width E or E/2?",
)
item.switch(
    "width_left_out",
    "Your frequencies fall far too fast: all pairs but the first stand still.",
    why="The exponent is a fraction of the width, 2i / E, and stays below 1. Without the E, the "
    "second frequency is already one hundred-millionth.",
    hint="What is divided by E in the formula?",
)
item.switch(
    "frequencies_rise",
    "Your frequencies rise instead of falling.",
    why="The position is divided by base^(2i / E). Multiplied by it, neighbouring tokens have "
    "angles that have nothing to do with one another.",
    hint="Is the power in the numerator or in the denominator? Mind the sign of your exponent.",
)
item.switch(
    "one_speed_for_all",
    "You turn all pairs by the same angle.",
    why="Then distances that differ by a full turn, 2π, look the same. Slow pairs are what tells "
    "far tokens apart.",
    hint="Print the angles of position 1 for E = 4. How many different ones should there be?",
)
item.switch(
    "positions_ignored",
    "Your first token is always turned as at position 0, whatever positions are given.",
    why="With a cache, one new token comes at a time, and its position isn't 0. Then every query "
    "would be turned as if it stood at the start. Text gets worse, and no error is raised.",
    hint="A single new token at position 7: by which angle does your code turn its first pair?",
    spellings=["counted_from_the_first"],
)
item.switch(
    "positions_from_one",
    "You add 1 to each position.",
    why="Scores don't show it if queries and keys both do it, since only the distance counts. But "
    "with keys in a cache that somebody else has turned, the distance is wrong by one.",
    hint="What should come out for a token at position 0?",
)
item.switch(
    "base_ignored",
    "Your base is always 10,000.",
    why="Models differ in it: in a configuration it is called rope_theta, and is often 100,000 or "
    "more. With the wrong one, a model writes well at first, and worse the longer the text is.",
    hint="Where does your code use its argument base?",
)
item.switch(
    "before_the_heads",
    "You turn as if the heads weren't split yet: frequencies and pairs run over all heads "
    "together.",
    why="Then the first head gets the fast frequencies and the last one the slow ones, and the two "
    "numbers of a pair are in different heads. Each head should have all frequencies.",
    hint="How many features do your frequencies run over: E, or H · E?",
)
item.switch(
    "heads_for_positions",
    "Your angles lie along the heads, not along the positions.",
    why="Broadcasting aligns shapes from the right: angles of shape (S, 1, E/2) meet x at its axis "
    "of heads. If there are as many heads as tokens, no error is raised.",
    hint="Which axes does your table of cosines have, and with which axes of x does each line up?",
)
item.switch(
    "added",
    "You add sines and cosines to x; nothing is turned.",
    why="That is the encoding of lesson 01. Added to a query and a key, it leaves terms in their "
    "product that depend on where the two tokens are.",
    hint="What should the length of a pair be before and after?",
)
item.switch(
    "only_cosines",
    "You multiply by cosines alone: the sines are missing.",
    why="A rotation mixes the two numbers of a pair. Without the sines, nothing of the one gets "
    "into the other, and pairs become shorter.",
    hint="What becomes of the pair (1, 0) after a quarter turn?",
)
item.switch(
    "one_half_alone",
    "Only the first half of the features changes.",
    why="A rotation changes both numbers of a pair.",
    hint="Which formula does your second half have?",
)
item.switch(
    "already_changed",
    "The second number of each pair is computed from the first one after it has changed.",
    why="Both formulas need the numbers from before the turn. If a name is used for both, old and "
    "new, the second formula gets the new one.",
    hint="Follow the names line by line: what does the first half hold when you compute the "
    "second?",
)
item.switch(
    "turns_for_radians",
    "Your angles are 2π times too large.",
    why="The angle is position times frequency, in radians: the first pair advances by one radian "
    "per position.",
    hint="A pair (1, 0) at position 1 should become (cos 1, sin 1), which is (0.54, 0.84).",
)
item.switch(
    "edits_its_input",
    "Your code modifies its input in place.",
    why="The caller may still need the features as they were.",
    hint="Create a new tensor for the result. Which line writes into x?",
)
