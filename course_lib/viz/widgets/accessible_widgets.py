"""A slider and an image that screen readers can name, which ipywidgets' own cannot be, and words
for a control that Python does not answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anywidget
import traitlets
from ipywidgets import Box

from course_lib.viz.figure_html import STYLE
from course_lib.widget_output import widget_output

SCRIPTS = Path(__file__).parents[2] / "assets" / "widgets"


class Slider(anywidget.AnyWidget):
    """A number between two ends, or one of several options in order.

    Args:
        description: its label.
        low, high, step: both ends and the step size, whole numbers or floats.
        value: where it starts; by default ``low``.
        options: instead of ends: the values it may have, in order.
        at_end: update when the slider is released, not while it moves.
    """

    _esm = (SCRIPTS / "slider.js").read_text("utf-8")
    description = traitlets.Unicode().tag(sync=True)
    min = traitlets.Float().tag(sync=True)
    max = traitlets.Float().tag(sync=True)
    step = traitlets.Float().tag(sync=True)
    position = traitlets.Float().tag(sync=True)  # the number, or the index of an option
    text = traitlets.Unicode().tag(sync=True)  # the value as it is displayed
    at_end = traitlets.Bool().tag(sync=True)
    value = traitlets.Any()

    def __init__(
        self,
        description: str,
        low: float = 0,
        high: float = 1,
        step: float = 1,
        *,
        value: Any = None,
        options: Sequence[Any] = (),
        at_end: bool = False,
    ) -> None:
        self.options = list(options)
        if self.options:
            low, high, step = 0, len(self.options) - 1, 1
        self._whole = all(isinstance(end, int) for end in (low, high, step))
        ends = {"min": low, "max": high, "step": step, "position": low}
        super().__init__(description=description, at_end=at_end, **ends)
        self.value = self._value_at(low) if value is None else value
        self.observe(self._update_value, names="position")

    def _value_at(self, position: float) -> Any:
        if self.options:
            return self.options[round(position)]
        return round(position) if self._whole else float(position)

    def _update_value(self, change: Any) -> None:
        self.value = self._value_at(change["new"])

    @traitlets.validate("value")
    def _within(self, proposal: Any) -> Any:
        value = proposal["value"]
        if self.options:
            if value not in self.options:
                raise traitlets.TraitError(f"value must be one of {self.options}, got {value!r}")
            return value
        return self._value_at(min(max(value, self.min), self.max))

    def text_of(self, value: Any) -> str:
        """How a value is written beside the slider."""
        large = isinstance(value, (int, float)) and value >= 1000
        short = f"{value:.4g}" if isinstance(value, float) else str(value)
        return f"{value:,.0f}" if large else short

    def values_between(self, most: int) -> list[Any]:
        """At most so many of its values, evenly spaced; the first, last and present one are in."""
        # Rounded down: a step that does not fit must not lead beyond the end. The small number
        # makes up for 0.3 / 0.1, which is less than 3.
        steps = math.floor((self.max - self.min) / self.step + 1e-9)
        now = min(max(round((self.position - self.min) / self.step), 0), steps)
        indices = {round(i * steps / (most - 1)) for i in range(most)} if steps else {0}
        inner = sorted(indices - {0, steps})
        if now not in indices and inner:
            indices.remove(min(inner, key=lambda i: abs(i - now)))
        values = [self._value_at(self.min + i * self.step) for i in sorted(indices - {now})]
        return sorted([*values, self.value], key=self._position_of)

    def _position_of(self, value: Any) -> float:
        return self.options.index(value) if self.options else float(value)

    @traitlets.observe("value")
    def _update_position(self, change: Any) -> None:
        value = change["new"]
        self.text = self.text_of(value)
        self.position = self._position_of(value)


class ImageWidget(anywidget.AnyWidget):
    """A PNG, ``value``, and its alt text, ``alt``."""

    _esm = (SCRIPTS / "picture.js").read_text("utf-8")
    _css = STYLE
    value = traitlets.Bytes().tag(sync=True)
    alt = traitlets.Unicode().tag(sync=True)


class AnswerWatch(anywidget.AnyWidget):
    """Says so if Python does not answer a control of the box that it is in.

    When a kernel is stopped or restarted, the controls of its widgets stay where they are. It also
    keeps JupyterLab from taking the keys of these controls.
    """

    _esm = (SCRIPTS / "unanswered.js").read_text("utf-8")
    answers = traitlets.Int().tag(sync=True)

    def answered(self) -> None:
        """Python has answered a control."""
        self.answers += 1

    def view(self, box: Box) -> tuple[dict[str, Any], dict[str, Any]]:
        """A notebook output with the box that it is in, and the output's metadata.

        In Colab, anywidget says in the metadata where the scripts of its widgets come from. Without
        that, Colab shows nothing in place of a box that holds such a widget, as ours do.
        """
        shown = self._repr_mimebundle_()
        return widget_output(box.model_id), shown[1] if shown else {}
