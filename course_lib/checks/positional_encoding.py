"""Items of lesson 01: where a token stands."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.item import Bug, Item, Probe
from course_lib.checks.positions_module import positional_encoding as positional_encoding
from course_lib.model import positions

# --- 01.sinusoidal_positions ---------------------------------------------------------------------

sinusoidal_positions = Item(
    "01.sinusoidal_positions",
    reference=positions.sinusoidal_positions,
    probes=[
        Probe(
            "each pair of columns is a clock hand: its sine, then its cosine",
            lambda draw: [
                Call((3, 4), about="three places, two clocks: the table worked out by hand"),
                Call((5, 2), about="one clock"),
            ],
        ),
        Probe(
            "each clock is slower than the one before by the same factor",
            lambda draw: [
                Call((draw.integer(20, 30), 16), about="eight clocks"),
                Call((draw.integer(9, 14), 6), about="three clocks"),
            ],
        ),
        Probe(
            "the speeds depend on the width, and the length changes no row",
            lambda draw: [
                Call((12, 64), about="more columns than places"),
                Call((40, 4), about="more places than columns"),
                Call((8, 8), about="as many places as columns"),
            ],
        ),
        Probe(
            "a single place and a place far along the sentence are right, too",
            lambda draw: [
                Call((1, 6), about="a single place"),
                Call((200, 10), about="200 places"),
                Call(
                    (),
                    {"length": draw.integer(4, 9), "d_model": 12},
                    about="arguments given by name",
                ),
            ],
        ),
    ],
    tolerance=1e-4,
    hints=(
        "Work out places 0, 1 and 2 with two clocks on paper, as in the lesson. What are the "
        "speeds of the two clocks?",
        "Four steps: the speeds of the D / 2 clocks, the angle of every place on every clock, sine "
        "and cosine of the angles, and then both laid into one table in turn.",
        "angles = torch.arange(length)[:, None] * speeds, with speeds = 10000 ** -(... / d_model); "
        "then torch.stack((..., ...), dim=-1).flatten(1).",
    ),
)


def _table(length: int, exponents: Tensor, *, first: int = 0) -> tuple[Tensor, Tensor]:
    """Sine and cosine of the angles of places first … under the speeds 10000^-exponent."""
    places = torch.arange(first, first + length, dtype=torch.float64)
    angles = places[:, None] * 10_000.0 ** -exponents.double()
    return angles.sin().float(), angles.cos().float()


def _in_turn(sine: Tensor, cosine: Tensor) -> Tensor:
    return torch.stack((sine, cosine), dim=-1).flatten(1)


@sinusoidal_positions.mistake(
    "Your clocks slow down far too fast: all but the first stand still.",
    why="The exponent is 2i, and not 2i / D. The second clock is then a hundred million times "
    "slower than the first. One published system has this: of its 512 columns only 2 move.",
    hint="What is divided by d_model in the formula?",
)
def width_left_out(length: int, d_model: int) -> Tensor:
    return _in_turn(*_table(length, torch.arange(0, d_model, 2)))


@sinusoidal_positions.mistake(
    "Your clocks slow down only half as much as they should.",
    why="The exponent is i / D where 2i / D is due, so wavelengths end near 100 · 2π and the "
    "horizon is a hundred times nearer.",
    hint="Does your counter of clocks go in steps of one or of two?",
)
def half_the_exponent(length: int, d_model: int) -> Tensor:
    return _in_turn(*_table(length, torch.arange(d_model // 2) / d_model))


@sinusoidal_positions.mistake(
    "Your clocks slow down twice as much as they should.",
    why="The exponent is 4i / D where 2i / D is due: the 2 was counted twice. Half of the clocks "
    "hardly move in any sentence.",
    hint="If your counter already goes in steps of two, it is 2i, not i.",
)
def twice_the_exponent(length: int, d_model: int) -> Tensor:
    return _in_turn(*_table(length, 2 * torch.arange(0, d_model, 2) / d_model))


@sinusoidal_positions.mistake(
    "Your sine and the cosine beside it belong to two different clocks.",
    why="Each column has a speed of its own. Then a pair is no longer the tip of one hand, and a "
    "shift is no longer a rotation.",
    hint="How many speeds are there: one for each column, or one for each pair?",
)
def a_speed_for_each_column(length: int, d_model: int) -> Tensor:
    sine, cosine = _table(length, torch.arange(d_model) / d_model)
    return torch.where(torch.arange(d_model) % 2 == 0, sine, cosine)


@sinusoidal_positions.mistake(
    "Your table holds all sines on the left and all cosines on the right.",
    why="These are the same columns in another order, and a model can learn with either. But "
    "weights trained with one do not fit the other, and this course takes the paper's order.",
    hint="sin, cos, sin, cos: which function lays two tensors in turn, and which one end to end?",
)
def end_to_end(length: int, d_model: int) -> Tensor:
    return torch.cat(_table(length, torch.arange(0, d_model, 2) / d_model), dim=-1)


@sinusoidal_positions.mistake(
    "In your table the cosine comes first.",
    why="The paper puts the sine into the even columns, and columns count from 0.",
    hint="What should stand in column 0 at place 0?",
)
def cosine_first(length: int, d_model: int) -> Tensor:
    sine, cosine = _table(length, torch.arange(0, d_model, 2) / d_model)
    return _in_turn(cosine, sine)


@sinusoidal_positions.mistake(
    "Both columns of each pair hold the sine.",
    why="A sine is the shadow of a clock hand: it does not say whether the hand is rising or "
    "falling. With sines alone no matrix can shift every place.",
    hint="What do the odd columns hold in the formula?",
)
def sines_alone(length: int, d_model: int) -> Tensor:
    sine, _ = _table(length, torch.arange(0, d_model, 2) / d_model)
    return _in_turn(sine, sine)


@sinusoidal_positions.mistake(
    "Your places count from 1.",
    why="The first token stands at place 0, where all hands point to twelve.",
    hint="Look at row 0 of your table.",
)
def places_from_one(length: int, d_model: int) -> Tensor:
    return _in_turn(*_table(length, torch.arange(0, d_model, 2) / d_model, first=1))


@sinusoidal_positions.mistake(
    "Your table lies on its side: (d_model, length).",
    why="A row is the code of one place, so that it can be added to the vector of one token.",
    hint="Which of the two should come first in the shape?",
)
def on_its_side(length: int, d_model: int) -> Tensor:
    return _in_turn(*_table(length, torch.arange(0, d_model, 2) / d_model)).T


# --- 01.shift_matrix -----------------------------------------------------------------------------


def _use_shift(
    make: Callable[[int, int], Tensor],
    d_model: int,
    offset: int,
    *,
    places: list[int] | None = None,
) -> Tensor:
    """The matrix itself, or what it makes of the codes of some places: (places, D)."""
    matrix = make(d_model, offset)
    if places is None:
        return matrix
    return torch.stack([matrix @ code for code in _codes(d_model)[places]])


def _codes(d_model: int) -> Tensor:
    return positions.sinusoidal_positions(64, d_model)


shift_matrix = Item(
    "01.shift_matrix",
    reference=positions.shift_matrix,
    use=_use_shift,
    tolerance=1e-4,
    probes=[
        Probe(
            "one step turns the first clock by one radian",
            lambda draw: [
                Call((2, 1), about="one clock, one step"),
                Call((4, 1), about="two clocks, one step"),
            ],
        ),
        Probe(
            "it moves the code of every place by the offset",
            lambda draw: [
                Call((8, offset), {"places": [0, 1, 6, 30]}, about=f"{offset} places on")
                for offset in (3, draw.integer(10, 20))
            ],
        ),
        Probe(
            "each clock turns by its own angle, and no clock touches another",
            lambda draw: [
                Call((16, draw.integer(7, 11)), about="eight clocks"),
                Call((6, 2), about="three clocks"),
            ],
        ),
        Probe(
            "an offset may be zero, point back or be large",
            lambda draw: [
                Call((6, 0), about="no step at all"),
                Call((6, -draw.integer(3, 5)), about="some steps back"),
                Call((10, 200), about="200 steps"),
                Call((8, -6), {"places": [6, 10, 40]}, about="six places back"),
            ],
        ),
    ],
    hints=(
        "Take one clock. Its hand is (sin ωp, cos ωp). Which 2 × 2 matrix makes (sin ω(p + k), "
        "cos ω(p + k)) of it? The addition theorems say it.",
        "One 2 × 2 rotation for each clock, by the angle offset times its speed, laid on the "
        "diagonal; all else is zero.",
        "For each speed w: a = offset * w, block [[cos a, ...], [..., cos a]]; then "
        "torch.block_diag(*blocks).",
    ),
)


def _blocks(
    d_model: int, offset: float, block: Callable[[float, float], list[list[float]]]
) -> Tensor:
    """The same block, of each clock's cosine and sine, all along the diagonal."""
    angles = [offset * 10_000.0 ** -(i / d_model) for i in range(0, d_model, 2)]
    return torch.block_diag(*(torch.tensor(block(math.cos(a), math.sin(a))) for a in angles))


@shift_matrix.mistake(
    "Your matrix turns the clocks backwards: it leads to place p − k.",
    why="It is the transposed one: the rotation of the textbooks, for (cos, sin) and "
    "anticlockwise, or one for code @ M. Here M stands on the left, and a hand is (sin, cos).",
    hint="Try your matrix on the code of place 0: the first number has to become sin(offset).",
)
def turns_backwards(d_model: int, offset: int) -> Tensor:
    return _blocks(d_model, offset, lambda c, s: [[c, -s], [s, c]])


@shift_matrix.mistake(
    "Your blocks have no minus sign.",
    why="Then they are no rotations: the hands grow and shrink, and the cosine comes out wrong.",
    hint="Write down cos(a + b). Which sign stands in the middle?",
)
def no_minus(d_model: int, offset: int) -> Tensor:
    return _blocks(d_model, offset, lambda c, s: [[c, s], [s, c]])


@shift_matrix.mistake(
    "All your clocks turn by the same angle.",
    why="Only the first clock runs at one radian a place. Each has a speed of its own.",
    hint="Where do the speeds of the clocks come in?",
)
def one_speed_for_all(d_model: int, offset: int) -> Tensor:
    c, s = math.cos(offset), math.sin(offset)
    return torch.block_diag(*[torch.tensor([[c, s], [-s, c]])] * (d_model // 2))


@shift_matrix.mistake(
    "Your matrix always moves by one place.",
    why="The angle of a block is the offset times the speed of the clock.",
    hint="Does your code use its second argument?",
)
def always_one_step(d_model: int, offset: int) -> Tensor:
    return _blocks(d_model, 1, lambda c, s: [[c, s], [-s, c]])


@shift_matrix.mistake(
    "Your matrix is for the other layout, with all sines first.",
    why="It pairs column i with column i + D / 2. In this course a clock's sine and cosine stand "
    "side by side.",
    hint="Which two columns of the table belong to the first clock?",
)
def end_to_end_matrix(d_model: int, offset: int) -> Tensor:
    angles = offset * 10_000.0 ** -(torch.arange(0, d_model, 2) / d_model)
    c, s = torch.diag(angles.cos()), torch.diag(angles.sin())
    return torch.cat((torch.cat((c, s), dim=1), torch.cat((-s, c), dim=1)))


@shift_matrix.mistake(
    "Your matrix shifts the columns of a code, not its place.",
    why="The offset is a number of places along the sentence. Columns of a code are clocks, and a "
    "clock does not become another clock by going on.",
    hint="What happens to one clock hand when the place moves by one?",
)
def shifts_columns(d_model: int, offset: int) -> Tensor:
    return torch.eye(d_model).roll(offset, dims=0)


@shift_matrix.mistake(
    "Your clocks turn at the wrong speeds: they slow down only half as much as those of the table.",
    why="The exponent is i / D where 2i / D is due. Only the first clock is right.",
    hint="Take the speeds from the same formula as the table.",
)
def other_speeds(d_model: int, offset: int) -> Tensor:
    angles = [offset * 10_000.0 ** -(i / d_model) for i in range(d_model // 2)]
    turns = [[[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]] for a in angles]
    return torch.block_diag(*(torch.tensor(turn) for turn in turns))


# --- 01.bug --------------------------------------------------------------------------------------

BUG = """\
def concatenated_positions(length, d_model):
    places = torch.arange(length, dtype=torch.float32)
    speeds = 1 / 10_000 ** torch.arange(0, d_model, 2, dtype=torch.float32)
    angles = torch.outer(places, speeds)
    return torch.cat((angles.sin(), angles.cos()), dim=-1)
"""


def _concatenated(length: int, d_model: int) -> Tensor:
    return positions.sinusoidal_positions(length, d_model, layout="concatenated")


bug = Item(
    "01.bug",
    reference=_concatenated,
    tolerance=1e-4,
    bug=Bug(BUG, line=3),
    probes=[
        Probe(
            "all clocks run, each slower than the one before",
            lambda draw: [
                Call((7, 8), about="four clocks"),
                Call((30, 32), about="sixteen clocks"),
            ],
        ),
        Probe(
            "any length and any width",
            lambda draw: [
                Call((draw.integer(11, 19), 6), about="three clocks"),
                Call((12, 12), about="as many places as columns"),
            ],
        ),
        Probe(
            "the first place and places far along are right, too",
            lambda draw: [
                Call((1, 4), about="a single place"),
                Call((200, 10), about="200 places"),
            ],
        ),
    ],
    hints=(
        "Run each line for length 3 and d_model 4. What should the second clock's speed be?",
        "10000^(2i / D): which part of this do you find in the code, and which not?",
        "The exponent has to be a share of the width; mind the brackets, since ** binds more "
        "tightly than /.",
    ),
)


def _outer(length: int, speeds: Tensor) -> tuple[Tensor, Tensor]:
    angles = torch.outer(torch.arange(length, dtype=torch.float32), speeds.float())
    return angles.sin(), angles.cos()


@bug.mistake(
    "The clocks still stand still, all but the first.",
    why="The second clock is a hundred million times slower than the first, so its columns are 0 "
    "and 1 at every place. A model with this table knows hardly more than the first clock says.",
    hint="Compare the exponent with the one in the paper.",
)
def still_standing(length: int, d_model: int) -> Tensor:
    return torch.cat(_outer(length, 1 / 10_000 ** torch.arange(0.0, d_model, 2)), dim=-1)


@bug.mistake(
    "Your mend slows down all clocks, the first one too, and the others still stand.",
    why="A bracket is missing: ** binds more tightly than /, so the speeds are divided, and not "
    "the exponents.",
    hint="In which order does Python work out 1 / 10_000 ** a / b?",
)
def bracket_missing(length: int, d_model: int) -> Tensor:
    return torch.cat(_outer(length, 1 / 10_000 ** torch.arange(0.0, d_model, 2) / d_model), dim=-1)


@bug.mistake(
    "You divide the exponent by the length of the sentence.",
    why="Then the code of a place depends on how long the table is, and a longer table moves every "
    "word.",
    hint="Which number says how many clocks there are?",
)
def by_the_length(length: int, d_model: int) -> Tensor:
    return torch.cat(_outer(length, 1 / 10_000 ** (torch.arange(0.0, d_model, 2) / length)), dim=-1)


@bug.mistake(
    "You divide the exponent by half of the width: the clocks slow down twice as much as they "
    "should.",
    why="arange goes in steps of two, so the exponents run up to the whole width.",
    hint="How large is your last exponent? In the formula none of them reaches 1.",
)
def by_half_the_width(length: int, d_model: int) -> Tensor:
    speeds = 1 / 10_000 ** (torch.arange(0.0, d_model, 2) / (d_model // 2))
    return torch.cat(_outer(length, speeds), dim=-1)


@bug.mistake(
    "The clocks run, but your columns stand in the other order: sine and cosine in turn.",
    why="The function is named for what it gives: all sines and then all cosines. Its last line "
    "was right.",
    hint="One line is wrong. Leave the others as they are.",
)
def in_turn(length: int, d_model: int) -> Tensor:
    return positions.sinusoidal_positions(length, d_model)
