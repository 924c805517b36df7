"""Pictures that answer to a slider, and stay a picture where no kernel runs.

Each redraw replaces the bytes of one image. While a redraw runs, the browser holds back all but
the latest position of a slider, so dragging never queues up old pictures.
"""

import html
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from course_lib.viz.display import bundle, to_png
from course_lib.viz.heatmaps import check_orientation, plot_attention
from course_lib.viz.reading import as_array, describe_attention, entropy, top_keys
from course_lib.viz.style import LINES

Picture = tuple[Axes | Figure, str]
ALL = -1  # not None, which a dropdown takes for "nothing chosen"
NO_START = object()  # a control that nobody told where to start


class Explorer:
    """Controls, a picture, and a line that says in words what the picture shows.

    In a live notebook the controls move the picture; a stored notebook keeps the picture and its
    alt text. Made by `explore`. ``controls`` holds the widgets by name, ``image`` the picture.
    """

    def __init__(self, draw: Callable[..., Picture], controls: dict[str, widgets.ValueWidget]):
        self.draw = draw
        self.controls = controls
        # Shrunk on narrow screens, never stretched on wide ones.
        size = widgets.Layout(max_width="100%", align_self="flex-start")
        self.image = widgets.Image(format="png", layout=size)
        self.words = widgets.HTML()
        # The first picture is drawn unguarded: a mistake in `draw` belongs to its author.
        self._show(*self._picture())
        for control in controls.values():
            control.observe(self._redraw, names="value")
        row = widgets.Layout(flex_flow="row wrap")
        self.box = widgets.VBox(
            [widgets.Box(list(controls.values()), layout=row), self.image, self.words]
        )

    def _picture(self) -> tuple[bytes, str]:
        picture, alt = self.draw(**{name: c.value for name, c in self.controls.items()})
        return to_png(picture), alt

    def _show(self, png: bytes, alt: str) -> None:
        self.image.value, self.alt = png, alt
        # role=status lets a screen reader say the new words when they change.
        self.words.value = f'<div role="status">{html.escape(alt)}</div>'

    def _redraw(self, change: object) -> None:
        try:
            self._show(*self._picture())
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


def explore(draw: Callable[..., Picture], **controls: Any) -> Explorer:
    """A picture with controls: ``explore(draw, depth=(1, 48), norm=["pre", "post"])``.

    Each control is named after a parameter of ``draw``. What is given decides its kind; sliders
    and dropdowns start at the parameter's default, or at their first value if it has none:

    - ``(low, high)`` or ``(low, high, step)``: a slider, of floats if one of them is a float;
    - a list of values, or of ``(label, value)`` pairs: a dropdown;
    - True or False: a tick box in that state;
    - a string: a text box that holds it, read when Enter is pressed;
    - an ipywidgets control: itself, with the label that it brings.

    Args:
        draw: called with the controls' values by name; returns the picture and its alt text.
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


def make_control(name: str, spec: Any, *, start: Any = NO_START) -> widgets.ValueWidget:
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
        case widgets.ValueWidget():
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
            slider = widgets.IntSlider if whole else widgets.FloatSlider
            step = rest[0] if rest else (1 if whole else (high - low) / 100)
            return slider(**common, min=low, max=high, step=step, **{"value": low} | chosen)
    raise TypeError(
        f"control {name!r} must be (low, high), (low, high, step), a list, True or False, "
        f"a string or an ipywidgets control, got {spec!r}"
    )


def attention_widget(
    attention: Tensor | np.ndarray,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str] | None = None,
    *,
    mask: Tensor | np.ndarray | None = None,
    title: str = "Attention",
) -> Explorer:
    """Choose a layer, a head and a query; see where it reads, in colour and in words.

    Layers and heads count from 0, as in ``attention[layer, head]``.

    Args:
        attention: (layers, heads, query, key) or (heads, query, key).
        query_tokens: one for each row.
        key_tokens: one for each column; by default those of the queries (self-attention).
        mask: True = may attend, as in `plot_attention`.
        title: stands before layer and head.

    Raises:
        ValueError: attention with another number of axes, or that does not fit the tokens.
    """
    weights = as_array(attention)
    if weights.ndim not in (3, 4):
        raise ValueError(
            "attention must have shape (layers, heads, query, key) or (heads, query, key), "
            f"got {weights.shape}: is a batch dimension left? pick one sentence"
        )
    weights = weights.reshape(-1, *weights.shape[-3:])
    keys = query_tokens if key_tokens is None else key_tokens
    for matrix in weights.reshape(-1, *weights.shape[-2:]):
        check_orientation(matrix, len(query_tokens), len(keys))
    n_layers, n_heads = weights.shape[:2]

    def draw(layer: int = 0, head: int = 0, query: int = ALL) -> Picture:
        matrix = weights[layer].mean(axis=0) if head == ALL else weights[layer, head]
        which = "mean of heads" if head == ALL else f"head {head}"
        spread = f"entropy {entropy(matrix).mean():.2f} nats (uniform {math.log(len(keys)):.2f})"
        name = f"{title}, layer {layer}, {which}\n{spread}"
        ax = plot_attention(matrix, query_tokens, keys, mask=mask, title=name)
        if query == ALL:
            return ax, describe_attention(matrix, query_tokens, keys)
        frame = Rectangle((-0.5, query - 0.5), len(keys), 1, fill=False)
        frame.set(edgecolor=LINES[3], linewidth=2.5, clip_on=False)
        ax.add_patch(frame)
        return (
            ax,
            f"{query_tokens[query]!r} reads most: {top_keys(matrix[query], keys)}.",
        )

    numbered = [(f"{i} {token}", i) for i, token in enumerate(query_tokens)]
    heads = [("mean of heads", ALL), *((str(i), i) for i in range(n_heads))]
    return explore(
        draw,
        layer=list(range(n_layers)),
        head=heads,
        query=[("all queries", ALL), *numbered],
    )
