"""Figures that are redrawn when a slider moves, and remain an image where no kernel runs.

Each redraw replaces the bytes of one image. While a redraw runs, the browser holds back all but
the newest position of a slider, so dragging never queues up outdated images.
"""

import html
import inspect
import os
from collections.abc import Callable, Iterator
from typing import Any

import ipywidgets as widgets
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from course_lib.viz.display import pixels_of, stored, to_png
from course_lib.viz.figure_html import figure_html
from course_lib.viz.widgets.accessible_widgets import AnswerWatch, ImageWidget, Slider
from course_lib.viz.widgets.frames import Stops, frames_of

DrawnFigure = tuple[Axes | Figure, str]
"""A picture and its alt text."""
PlotFunction = Callable[..., DrawnFigure | Iterator[DrawnFigure]]
ALL = -1  # not None, which a dropdown takes for "nothing chosen"
NO_START = object()  # for a control whose start value is not given
STORING = "COURSE_STORING"  # set where an output is made to be stored


class InteractiveFigure:
    """Controls, a picture, and a status line that says in words what the picture shows.

    In a live notebook the controls redraw the picture; a stored notebook keeps the picture and its
    alt text. Made by `interact`. ``controls`` holds the controls by name, ``image`` the picture,
    ``status`` the status line.
    """

    def __init__(self, draw: PlotFunction, controls: dict[str, widgets.DOMWidget]):
        self.draw = draw
        self.controls = controls
        self.image = ImageWidget()
        self.status = widgets.HTML()
        self.watch = AnswerWatch()
        # Errors in the first drawing are not caught: the author of `draw` should see them.
        *_, last = self._drawn()  # the ones before it would not be seen
        self._show(*last)
        for control in controls.values():
            control.observe(self._redraw, names="value")
        columns = "repeat(auto-fit, minmax(min(20em, 100%), 1fr))"
        grid = widgets.Layout(
            display="grid",
            grid_template_columns=columns,
            grid_gap="0 1.5em",
            max_width="60em",  # close together, above a picture of 800 pixels
            align_items="center",
        )
        row = widgets.Box(list(controls.values()), layout=grid)
        self.box = widgets.VBox([row, self.watch, self.image, self.status])

    def _drawn(self, **others: Any) -> Iterator[DrawnFigure]:
        values = {name: c.value for name, c in self.controls.items()} | others
        drawn = self.draw(**values)
        yield from [drawn] if isinstance(drawn, tuple) else drawn

    def _show(self, picture: Axes | Figure, alt: str) -> None:
        self.alt = self.image.alt = alt
        self.picture = picture
        self.image.value = to_png(picture)
        # role=status makes a screen reader announce the new text when it changes.
        self.status.value = f'<div role="status">{html.escape(alt)}</div>'

    def _redraw(self, change: object) -> None:
        try:
            for picture, alt in self._drawn():
                self._show(picture, alt)  # visible at once: the kernel sends while it works
                self.watch.answered()
        except Exception as error:
            reason = html.escape(f"{type(error).__name__}: {error}")
            self.status.value = (
                f'<div role="alert"><b>Not drawn.</b> {reason}<br>'
                "The picture above is still the previous one.</div>"
            )
            self.watch.answered()
            raise

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, Any], dict[str, Any]]:
        view, metadata = self.watch.view(self.box)
        return {**view, "text/html": self._without_kernel(), "text/plain": self.alt}, metadata

    def _without_kernel(self) -> str:
        """The figure for pages behind which no Python runs."""
        one = len(self.controls) == 1
        controls = "its control" if one else "its controls"
        still = f"This picture is still. Run the cell to move {controls}."
        if os.environ.get(STORING) and (frames := frames_of(self._pixels, self._stops)):
            few = f"{len(frames.alts)} stored pictures. Run the cell to move {controls} freely."
            return frames.html(few, still)
        return figure_html(stored(self.picture), self.alt, after=f"<p>{html.escape(still)}</p>")

    def _pixels(self, **values: Any) -> tuple[NDArray[np.uint8], str]:
        *_, (picture, alt) = self._drawn(**values)
        return pixels_of(picture), alt

    def _stops(self, fineness: int) -> dict[str, Stops]:
        found = {name: stops_of(c, fineness) for name, c in self.controls.items()}
        return {name: stops for name, stops in found.items() if stops}


def interact(draw: PlotFunction, **controls: Any) -> InteractiveFigure:
    """A picture with controls: ``interact(draw, depth=(1, 48), norm=["pre", "post"])``.

    Like ``ipywidgets.interact``, but what it shows has an alt text and survives without a kernel.
    Each control is named after a parameter of ``draw``. Its type follows from the value given;
    sliders and dropdowns start at the parameter's default, or at their first value if it has none:

    - ``(low, high)`` or ``(low, high, step)``: a slider, of floats if any of them is a float;
    - a list of values, or of ``(label, value)`` pairs: a dropdown;
    - True or False: a checkbox in that state;
    - a string: a text box that holds it, read when Enter is pressed;
    - an ipywidgets control: used as it is, with its own label.

    Args:
        draw: called with the controls' values by name; returns the picture and its alt text, or
            yields several of them, which are shown one after the other as they come.
        controls: the parameters that can be changed.

    Raises:
        TypeError: a control is specified by something else.
    """
    parameters = inspect.signature(draw).parameters
    starts = {name: p.default for name, p in parameters.items() if p.default is not p.empty}
    made = {
        name: make_control(name, spec, start=starts.get(name, NO_START))
        for name, spec in controls.items()
    }
    return InteractiveFigure(draw, made)


def make_control(name: str, spec: Any, *, start: Any = NO_START) -> widgets.DOMWidget:
    """One control, labelled and usable from the keyboard; see `interact` for the types.

    Args:
        name: becomes the label.
        spec: the values to choose from.
        start: where a slider or a dropdown starts; by default at its first value.

    Raises:
        TypeError: the spec is none of those that `interact` lists.
    """
    # d_model, d_head and d_ff are the paper's symbols: their underscore stays.
    label = name if name.startswith("d_") else name.replace("_", " ")
    common = {"description": label, "style": {"description_width": "initial"}}
    chosen = {} if start is NO_START else {"value": start}
    match spec:
        case widgets.ValueWidget() | Slider():
            return spec
        case bool():
            width = widgets.Layout(width="auto")
            return widgets.Checkbox(**common, value=spec, indent=False, layout=width)
        case str():
            return widgets.Text(**common, value=spec, continuous_update=False)
        case list():
            return widgets.Dropdown(**common, options=spec, **chosen)
        case (int() | float() as low, int() | float() as high, *rest) if len(rest) <= 1:
            whole = all(isinstance(end, int) for end in spec)
            step = rest[0] if rest else (1 if whole else (high - low) / 100)
            return Slider(label, low, high, step, **chosen)
    raise TypeError(
        f"control {name!r} must be (low, high), (low, high, step), a list, True or False, "
        f"a string or an ipywidgets control, got {spec!r}"
    )


def stops_of(control: widgets.DOMWidget, fineness: int) -> Stops | None:
    """What a control can be set to in a stored page; None for one that has endless values.

    Args:
        control: a slider, a dropdown or a checkbox.
        fineness: the most values of a slider, its first, last and present ones among them.
    """
    match control:
        case Slider():
            kind, values = "range", control.values_between(fineness)
            texts, start = [control.text_of(v) for v in values], values.index(control.value)
        case widgets.Dropdown():
            kind, start = "list", control.index
            texts, values = list(control._options_labels), list(control._options_values)
        case widgets.Checkbox():
            kind, start = "switch", int(control.value)
            texts, values = ["no", "yes"], [False, True]
        case _:
            return None
    return Stops(control.description, kind, values=values, texts=texts, start=start)
