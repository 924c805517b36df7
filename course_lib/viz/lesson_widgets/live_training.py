"""Lesson 10: choose how to train, and watch a whole training each time."""

from collections.abc import Callable, Sequence
from math import isfinite

from ipywidgets import IntSlider, SelectionSlider

from course_lib.errors import CourseError
from course_lib.viz.curves import plot_loss
from course_lib.viz.widgets import Explorer, Picture, explore

RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
MOMENTA = (0.0, 0.5, 0.9, 0.95, 0.99)

# From a learning rate, a momentum and a seed: the loss of each step, and what the model then says.
Train = Callable[[float, float, int], tuple[Sequence[float], str]]


def live_training_widget(
    train: Train,
    *,
    floor: float | None = None,
    rates: Sequence[float] = RATES,
    momenta: Sequence[float] = MOMENTA,
    lr: float = 0.03,
    momentum: float = 0.9,
) -> Explorer:
    """Choose learning rate, momentum and seed; when a slider is let go, a model is trained anew.

    Args:
        train: from (lr, momentum, seed) to the losses and to what the trained model says.
        floor: a loss that training should get below, drawn as a line.
        rates: the learning rates to choose from.
        momenta: the momenta to choose from.
        lr: the learning rate to begin with.
        momentum: the momentum to begin with.

    Raises:
        CourseError: a training without a single loss that is a number.
    """

    def draw(lr: float, momentum: float, seed: int) -> Picture:
        losses, says = train(lr, momentum, seed)
        ends = next((i for i, loss in enumerate(losses) if not isfinite(loss)), len(losses))
        if not ends:
            raise CourseError(
                f"training with lr {lr} and momentum {momentum} gave no loss that is a number: "
                "does train return the losses, first to last?"
            )
        kept = list(losses[:ends])
        title = f"lr {lr:g}, momentum {momentum:g}, seed {seed}"
        ax = plot_loss(kept, floor=floor, log_y=True, x_label="step", title=title)
        blew = f" and blew up at step {ends + 1}" if ends < len(losses) else ""
        where = "" if floor is None else (", below" if kept[-1] < floor else ", above")
        line = "" if floor is None else f"{where} the floor of {floor:.4g}"
        return ax, (
            f"{title}: after {ends} steps the loss is {kept[-1]:.2g}{line}{blew}. "
            f"The model says: {says}"
        )

    def choose(name: str, options: Sequence[float], start: float) -> SelectionSlider:
        # Read when it is let go: each value in between would be a training.
        return SelectionSlider(options=options, value=start, description=name, **AT_END)

    return explore(
        draw,
        lr=choose("lr", rates, lr),
        momentum=choose("momentum", momenta, momentum),
        seed=IntSlider(min=0, max=20, description="run again (seed)", **AT_END),
    )


AT_END = {"style": {"description_width": "initial"}, "continuous_update": False}
