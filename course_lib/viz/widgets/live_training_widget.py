"""Lesson 10: choose the hyperparameters, and watch a whole training run each time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
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
) -> InteractiveFigure:
    """Choose learning rate, momentum and seed; when a slider is released, a new model is trained
    while you watch.

    Args:
        train: from (lr, momentum, seed) to the losses so far and what the model generates, yielded
            every few steps, and once more at the end. The curve is redrawn each time.
        steps: number of steps of a whole run, the length of the x axis.
        floor: a loss that training should get below, drawn as a line.
        floor_label: what that loss is called, in the legend and in words.

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
        title = f"lr {lr:g}, momentum {momentum:g}, seed {seed}"
        finite: list[float] = []
        for losses, output in progress:
            finite = list(takewhile(isfinite, losses))
            if not finite:
                break
            ax = plot_loss(
                finite,
                floor=floor,
                floor_label=floor_label,
                log_y=True,
                x_label="step",
                title=f"After {len(finite)} steps, the loss is {finite[-1]:.2f}",
            )
            ax.set_xlim(0, steps)
            text = f"{title}: after {len(finite)} steps the loss is {finite[-1]:.2f}"
            if floor is not None:
                side = "below" if finite[-1] < floor else "above"
                text += f", {side} the {floor_label} of {floor:.4g}"
            if len(finite) < len(losses):
                text += f" and diverged at step {len(finite) + 1}"
            yield ax, f"{text}. Model output: {output}" if output else f"{text}."
        if not finite:
            raise CourseError(
                f"training with lr {lr} and momentum {momentum} gave no finite loss: does train "
                "yield the losses from the first step on?"
            )

    return interact(  # at_end: otherwise every value on the way would start a training run
        draw,
        lr=Slider("lr", value=0.03, options=RATES, at_end=True),
        momentum=Slider("momentum", value=0.9, options=MOMENTA, at_end=True),
        seed=Slider("run again (seed)", 0, 20, at_end=True),
    )
