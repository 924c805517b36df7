"""Lesson 10: choose the hyperparameters, and watch a whole training run each time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isfinite

from course_lib.errors import CourseError
from course_lib.viz.plots.curves import plot_loss
from course_lib.viz.widgets.accessible_widgets import Slider
from course_lib.viz.widgets.interactive_figure import DrawnFigure, InteractiveFigure, interact

RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
MOMENTA = (0.0, 0.5, 0.9, 0.95, 0.99)

# (lr, momentum, seed) → again and again, the loss of each step so far and what the model now
# generates, or "".
TrainFunction = Callable[[float, float, int], Iterable[tuple[Sequence[float], str]]]


def live_training_widget(
    train: TrainFunction,
    *,
    steps: int,
    floor: float | None = None,
    floor_label: str = "floor",
    rates: Sequence[float] = RATES,
    momenta: Sequence[float] = MOMENTA,
    lr: float = 0.03,
    momentum: float = 0.9,
) -> InteractiveFigure:
    """Choose learning rate, momentum and seed; when a slider is released, a new model is trained
    while you watch.

    Args:
        train: from (lr, momentum, seed) to the losses so far and what the model generates, yielded
            every few steps, and once more at the end. The curve is redrawn each time.
        steps: number of steps of a whole run, the length of the x axis.
        floor: a loss that training should get below, drawn as a line.
        floor_label: what that loss is called, in the legend and in words.
        rates: the learning rates to choose from.
        momenta: the momenta to choose from.
        lr: the learning rate to start with.
        momentum: the momentum to start with.

    Raises:
        CourseError: a run without a single finite loss, or a function that returns instead of
            yielding.
    """

    def draw(lr: float, momentum: float, seed: int) -> Iterator[DrawnFigure]:
        progress = train(lr, momentum, seed)
        if isinstance(progress, tuple):
            raise CourseError(
                "train must yield the losses so far and what the model generates, again and again, "
                "got one tuple: does it return where it should yield?"
            )
        losses: Sequence[float] = ()
        for losses, output in progress:
            yield draw_run(losses, output, lr, momentum, seed)
        if not losses:
            raise _no_finite_loss(lr, momentum)

    def draw_run(
        losses: Sequence[float], output: str, lr: float, momentum: float, seed: int
    ) -> DrawnFigure:
        ends = next((i for i, loss in enumerate(losses) if not isfinite(loss)), len(losses))
        if not ends:
            raise _no_finite_loss(lr, momentum)
        finite = list(losses[:ends])
        title = f"lr {lr:g}, momentum {momentum:g}, seed {seed}"
        ax = plot_loss(
            finite,
            floor=floor,
            floor_label=floor_label,
            log_y=True,
            x_label="step",
            title=title,
        )
        ax.set_xlim(0, steps)
        diverged = f" and diverged at step {ends + 1}" if ends < len(losses) else ""
        where = ""
        if floor is not None:
            side = "below" if finite[-1] < floor else "above"
            where = f", {side} the {floor_label} of {floor:.4g}"
        text = f"{title}: after {ends} steps the loss is {finite[-1]:.2f}{where}{diverged}."
        return ax, f"{text} Model output: {output}" if output else text

    return interact(  # at_end: otherwise every value on the way would start a training run
        draw,
        lr=Slider("lr", value=lr, options=rates, at_end=True),
        momentum=Slider("momentum", value=momentum, options=momenta, at_end=True),
        seed=Slider("run again (seed)", 0, 20, at_end=True),
    )


def _no_finite_loss(lr: float, momentum: float) -> CourseError:
    return CourseError(
        f"training with lr {lr} and momentum {momentum} gave no finite loss: does train yield "
        "the losses from the first step on?"
    )
