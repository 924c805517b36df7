"""Lesson 10: choose how to train, and watch a whole training each time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isfinite

from course_lib.errors import CourseError
from course_lib.viz.accessible_widgets import Slider
from course_lib.viz.curves import plot_loss
from course_lib.viz.interactive_figure import Explorer, Picture, explore

RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
MOMENTA = (0.0, 0.5, 0.9, 0.95, 0.99)

# From a learning rate, a momentum and a seed: again and again the loss of each step so far, and
# what the model now says, or "".
Train = Callable[[float, float, int], Iterable[tuple[Sequence[float], str]]]


def live_training_widget(
    train: Train,
    *,
    steps: int,
    floor: float | None = None,
    rates: Sequence[float] = RATES,
    momenta: Sequence[float] = MOMENTA,
    lr: float = 0.03,
    momentum: float = 0.9,
) -> Explorer:
    """Choose learning rate, momentum and seed; when a slider is let go, a model is trained anew
    before your eyes.

    Args:
        train: from (lr, momentum, seed) to the losses so far and what the model says, yielded every
            few steps, and a last time at the end. Each time the curve is drawn anew.
        steps: of a whole training: how far there is to go is seen from the start.
        floor: a loss that training should get below, drawn as a line.
        rates: the learning rates to choose from.
        momenta: the momenta to choose from.
        lr: the learning rate to begin with.
        momentum: the momentum to begin with.

    Raises:
        CourseError: a training without a single loss that is a number, or a function that returns
            instead of yielding.
    """

    def draw(lr: float, momentum: float, seed: int) -> Iterator[Picture]:
        progress = train(lr, momentum, seed)
        if isinstance(progress, tuple):
            raise CourseError(
                "train must yield the losses so far and what the model says, again and again, got "
                "one tuple: does it return where it should yield?"
            )
        losses: Sequence[float] = ()
        for losses, says in progress:
            yield draw_run(losses, says, lr, momentum, seed)
        if not losses:
            raise _no_loss(lr, momentum)

    def draw_run(
        losses: Sequence[float], says: str, lr: float, momentum: float, seed: int
    ) -> Picture:
        ends = next((i for i, loss in enumerate(losses) if not isfinite(loss)), len(losses))
        if not ends:
            raise _no_loss(lr, momentum)
        kept = list(losses[:ends])
        title = f"lr {lr:g}, momentum {momentum:g}, seed {seed}"
        ax = plot_loss(kept, floor=floor, log_y=True, x_label="step", title=title)
        ax.set_xlim(0, steps)
        blew = f" and blew up at step {ends + 1}" if ends < len(losses) else ""
        where = "" if floor is None else (", below" if kept[-1] < floor else ", above")
        line = "" if floor is None else f"{where} the floor of {floor:.4g}"
        words = f"{title}: after {ends} steps the loss is {kept[-1]:.2f}{line}{blew}."
        return ax, f"{words} The model says: {says}" if says else words

    return explore(  # read when they are let go: each value in between would be a training
        draw,
        lr=Slider("lr", value=lr, options=rates, at_end=True),
        momentum=Slider("momentum", value=momentum, options=momenta, at_end=True),
        seed=Slider("run again (seed)", 0, 20, at_end=True),
    )


def _no_loss(lr: float, momentum: float) -> CourseError:
    return CourseError(
        f"training with lr {lr} and momentum {momentum} gave no loss that is a number: does train "
        "yield the losses, first to last?"
    )
