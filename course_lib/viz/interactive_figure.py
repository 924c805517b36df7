"""Pictures that answer to a slider, and stay a picture where no kernel runs.

Each redraw replaces the bytes of one image. While a redraw runs, the browser holds back all but
the latest position of a slider, so dragging never queues up old pictures.
"""

import html
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import ipywidgets as widgets
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib.viz.accessible_widgets import Picture as PictureWidget
from course_lib.viz.accessible_widgets import Slider
from course_lib.viz.display import bundle, to_png

Picture = tuple[Axes | Figure, str]
Draw = Callable[..., Picture | Iterator[Picture]]
ALL = -1  # not None, which a dropdown takes for "nothing chosen"
NO_START = object()  # a control that nobody told where to start


class Explorer:
    """Controls, a picture, and a line that says in words what the picture shows.

    In a live notebook the controls move the picture; a stored notebook keeps the picture and its
    alt text. Made by `explore`. ``controls`` holds the widgets by name, ``image`` the picture.
    """

    def __init__(self, draw: Draw, controls: dict[str, widgets.DOMWidget]):
        self.draw = draw
        self.controls = controls
        self.image = PictureWidget()
        self.words = widgets.HTML()
        # The first picture is drawn unguarded: a mistake in `draw` belongs to its author.
        *_, last = self._pictures()  # nobody sees those before it
        self._show(*last)
        for control in controls.values():
            control.observe(self._redraw, names="value")
        row = widgets.Layout(flex_flow="row wrap")
        self.box = widgets.VBox(
            [widgets.Box(list(controls.values()), layout=row), self.image, self.words]
        )

    def _pictures(self) -> Iterator[Picture]:
        drawn = self.draw(**{name: c.value for name, c in self.controls.items()})
        yield from [drawn] if isinstance(drawn, tuple) else drawn

    def _show(self, picture: Axes | Figure, alt: str) -> None:
        self.alt = self.image.alt = alt
        self.image.value = to_png(picture)
        # role=status lets a screen reader say the new words when they change.
        self.words.value = f'<div role="status">{html.escape(alt)}</div>'

    def _redraw(self, change: object) -> None:
        try:
            for picture, alt in self._pictures():
                self._show(picture, alt)  # is seen at once: the kernel sends while it works
        except Exception as error:
            reason = html.escape(f"{type(error).__name__}: {error}")
            self.words.value = (
                f'<div role="alert"><b>Not drawn.</b> {reason}<br>'
                "The picture above is still the last one.</div>"
            )
            raise

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = bundle(bytes(self.image.value), self.alt)
        view = {"version_major": 2, "version_minor": 0, "model_id": self.box.model_id}
        return {"application/vnd.jupyter.widget-view+json": view, **data}, metadata


def explore(draw: Draw, **controls: Any) -> Explorer:
    """A picture with controls: ``explore(draw, depth=(1, 48), norm=["pre", "post"])``.

    Each control is named after a parameter of ``draw``. What is given decides its kind; sliders
    and dropdowns start at the parameter's default, or at their first value if it has none:

    - ``(low, high)`` or ``(low, high, step)``: a slider, of floats if one of them is a float;
    - a list of values, or of ``(label, value)`` pairs: a dropdown;
    - True or False: a tick box in that state;
    - a string: a text box that holds it, read when Enter is pressed;
    - an ipywidgets control: itself, with the label that it brings.

    Args:
        draw: called with the controls' values by name; returns the picture and its alt text, or
            yields several of them, which are shown one after the other as they come.
        controls: what may be changed.

    Raises:
        TypeError: a control of no known kind.
    """
    parameters = inspect.signature(draw).parameters
    made = {}
    for name, spec in controls.items():
        default = parameters[name].default if name in parameters else inspect.Parameter.empty
        start = NO_START if default is inspect.Parameter.empty else default
        made[name] = make_control(name, spec, start=start)
    return Explorer(draw, made)


def make_control(name: str, spec: Any, *, start: Any = NO_START) -> widgets.DOMWidget:
    """One control that works by keyboard and says its name; see `explore` for the kinds.

    Args:
        name: becomes the label.
        spec: what may be chosen.
        start: where a slider or a dropdown starts; by default at its first value.

    Raises:
        TypeError: a spec of no known kind.
    """
    # d_model, d_head and d_ff are names of the paper, not words joined by an underscore.
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
