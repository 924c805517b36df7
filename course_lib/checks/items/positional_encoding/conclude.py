"""01.conclude: Does the dot product measure the distance?"""

from __future__ import annotations

import random
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from course_lib.checks.items.hidden import many
from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)
from course_lib.checks.items.positional_encoding.position_rows import rows_that_show

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POSITIONS = 60
CLEARLY = 1e-3  # by how much a mean product is larger than another, at least; less is rounding


@dataclass(frozen=True)
class Dots:
    """The dot products of a table of positions, and the few that a friend has looked at.

    Attributes:
        shows: which conclusion they bear out.
        table: what the rows are, as the end of a sentence.
        products: (position t, distance k), divided by that of position 0 with itself. Otherwise
            the first one would tell how many pairs there are.
        seen: the distances from position 0 that the friend has looked at.
    """

    shows: str
    table: str
    _: KW_ONLY
    products: Tensor
    seen: list[int]

    @property
    def larger(self) -> int:
        """How many distances have a larger mean product than the last one seen."""
        return int(self._larger(self.products.mean(0)).sum())

    @property
    def larger_at_0(self) -> int:
        """How many have a larger product, at position 0 alone."""
        return int(self._larger(self.products[0]).sum())

    @property
    def farther(self) -> int:
        """How many of the distances with a larger mean product lie beyond the last one seen."""
        return int(self._larger(self.products.mean(0))[self.seen[-1] + 1 :].sum())

    def _larger(self, products: Tensor) -> Tensor:
        return products > products[self.seen[-1]] + CLEARLY


def _make(drawn: random.Random) -> Dots:
    # Of "steady", the count can be guessed.
    shows = drawn.choices([*SHOWS], weights=[2, 1, 2, 2, 2])[0]
    while True:
        distances = drawn.randint(44, 60)
        rows, table = rows_that_show(shows, drawn, POSITIONS + distances)
        dots = rows[:POSITIONS] @ rows.T
        products = torch.stack([row[t : t + distances + 1] for t, row in enumerate(dots)])
        seen = [0, *sorted(drawn.sample(range(1, 13), 3))]
        products /= products[0, 0].clone()
        run = Dots(shows, table, products=products.float(), seen=seen)
        falls = products[0, seen].diff() < -0.01  # seen in two decimals
        mean = products.mean(0)
        close = (mean - mean[seen[-1]]).abs() < 2 * CLEARLY  # machines round differently
        bears_out = run.larger == seen[-1] or run.farther == 0  # as the friend would expect
        needs_mean = shows != "position" or run.larger != run.larger_at_0
        if falls.all() and close.sum() == 1 and bears_out == (shows == "steady") and needs_mean:
            return run


def _show(run: Dots) -> Outcome:
    cells = [(f"{k}", f"{run.products[0, k]:.2f}") for k in run.seen]
    distances, dots = ("".join(f"{each:>9}" for each in line) for line in zip(*cells, strict=True))
    return Outcome(
        text=(
            f"dot products of {POSITIONS} positions, at distances from 0 to "
            f"{run.products.size(1) - 1},\n"
            f"divided by that of position 0 with itself\n"
            f"what your friend has looked at, from position 0:\n"
            f"distance     {distances}\ndot product  {dots}"
        ),
        values={"products": run.products, "last_seen": run.seen[-1]},
        picture=lambda: _picture(run),
    )


def _picture(run: Dots) -> Axes:
    from course_lib.viz.plots.curves import plot_curves  # loads Matplotlib

    ax = plot_curves(
        {"position 0": run.products[0, run.seen]},
        x=run.seen,
        x_label="distance from position 0",
        y_label="dot product, divided by the first",
        title="What your friend has looked at",
    )
    ax.lines[0].set_marker("o")
    return ax


def _says(run: Dots) -> str:
    dots, last = run.products, run.seen[-1]
    mean = dots.mean(0) / dots.mean(0)[0]
    at_last = dots[:, last]
    return (
        f"Your table has {run.table}. "
        + {
            "steady": "No pair gets through half a turn within these distances, so every cosine "
            "falls. Far enough out, the product would rise here, too.",
            "wobbles": f"At {many(run.farther, 'distance')} beyond {last}, the product is larger "
            f"than at distance {last}: the higher frequencies have got through half a turn, and "
            "their cosines rise again.",
            "returns": f"At distance {int(mean[13:].argmax()) + 13} the product is back at "
            f"{mean[13:].max():.1%} of its first value: all frequencies are multiples of the "
            "slowest one, so every pair is about back where it was.",
            "position": f"At distance {last} the product lies between {at_last.min():.2f} and "
            f"{at_last.max():.2f}, depending on the position. For the distance alone to decide it, "
            "each pair needs sine and cosine, and the same norm everywhere.",
            "same": f"From distance 1 on, the product lies between {mean[1:].min():.0%} and "
            f"{mean[1:].max():.0%} of its first value: the high frequencies have turned so far "
            "that their cosines nearly cancel, and the pairs that never move are what is left.",
        }[run.shows]
    )


SHOWS = {
    "wobbles": "at all positions alike, the product falls for five steps or more, and later it "
    "also rises, but not to 95 % of its first value: of two far distances, the larger one may "
    "have the larger product",
    "steady": "your friend is right about these distances: each step farther makes the product "
    "smaller",
    "returns": "at all positions alike, the product falls, and farther out it is back at 95 % of "
    "its first value or more: two positions far apart can look like the same one",
    "position": "the same distance has clearly different products at different positions: the "
    "product depends on where the two are, too",
    "same": "from distance 1 on, the product goes up and down around one value, far below the "
    "first: it tells only whether two positions are the same",
}
run = NumberedRun(
    id="01.conclude",
    make=_make,
    show=_show,
    questions={
        "larger": Number(
            what="the count of distances with a larger product than the last one seen",
            right=lambda run: run.larger,
            look='Take the mean of `run["products"]` over all positions, which leaves one number '
            "for each distance, and count those that are larger than the one at "
            '`run["last_seen"]` by more than 0.001. Distance 0 counts, and so do all that lie '
            "beyond.",
        ),
        "shows": Choice(
            options=SHOWS,
            right=lambda run: run.shows,
            look={
                "wobbles": "Then all positions would have the same products, which fall for five "
                "steps or more, later rise here and there, and stay below 95 % of the first value.",
                "steady": "Then no product would be larger than the one at the distance before, at "
                "any position.",
                "returns": "Then the product would first fall, and at some larger distance be at "
                "95 % of its first value or more, at all positions.",
                "position": "Then a column of the table, which is one distance at all positions, "
                "would have clearly different numbers in it.",
                "same": "Then the product would drop in a single step, from distance 0 to distance "
                "1, and then stay near one value.",
            },
        ),
    },
    says=_says,
    easy=lambda run: "your friend is right" if run.shows == "steady" else "",
)
item = own_number_item(
    run,
    hints=(
        "Your friend has looked at four numbers from a single position. What would you look at, "
        "to find out whether the conclusion holds elsewhere?",
        "First compare positions: is a column of the table the same number all the way down? If "
        "so, one row is enough: draw it over all distances. Where does it rise?",
        'With `dots = run["products"]`: `dots.std(0)` shows whether the position counts, '
        "`dots[0].diff() > 0` where the product rises, and `dots[0]` how near to its first value, "
        "1, it comes.",
    ),
)
