"""The attention explorer: every layer and head of one sentence, to point at and to turn over."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from course_lib.errors import CourseError
from course_lib.viz.display import bundle
from course_lib.viz.explorer_data import AttentionData, Kind, attention_data, pack
from course_lib.viz.explorer_page import fragment, page
from course_lib.viz.explorer_picture import MEAN, describe, digest, picture
from course_lib.viz.plot_alignment import Link

VIEWS = ("heatmap", "lines", "heads", "grid")
STEPS = ("scores", "scaled", "masked", "weights")
PALETTES = ("mako", "viridis", "cividis", "grey")
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"

# What is shown: these names are shared with the script. `query` is the locked row, None for none.
START: dict[str, Any] = {
    "layer": 0,
    "head": 0,
    "view": "heatmap",
    "step": "weights",
    "query": None,
    "joined": False,
    "gold": True,
    "stretch": False,
    "palette": "mako",
}


class AttentionExplorer:
    """Attention weights to explore in a notebook or a web page. Made by `explore_attention`.

    In a live notebook it answers to Python too: `state` says what is shown, `select` changes it.
    Without a kernel it is as interactive; where no script runs, a picture is left.
    """

    def __init__(self, data: AttentionData) -> None:
        self.data = data
        self._state = dict(START)
        self._packed = pack(data)
        self._widget: Any = None

    @property
    def state(self) -> dict[str, Any]:
        """What is shown now, in a live notebook as the reader left it."""
        return dict(self._widget.state if self._widget else self._state)

    @property
    def widget(self) -> Any:
        """The live widget, made when it is first asked for: loading anywidget takes a while."""
        if self._widget is None:
            live = importlib.import_module("course_lib.viz.explorer_live")
            self._widget = live.LiveExplorer(data=self._packed, state=self._state)
        return self._widget

    def select(self, **changes: Any) -> AttentionExplorer:
        """Show something else, as in ``select(layer=2, head=MEAN, view="lines")``.

        Args:
            changes: layer, head (-1 for the mean of all heads), view ("heatmap", "lines", "heads",
                "grid"), step ("scores", "scaled", "masked", "weights"), query (the locked row or
                None), joined, gold, stretch (True or False), palette ("mako", "viridis",
                "cividis", "grey").

        Raises:
            CourseError: there is no such thing to show.
        """
        for name, value in changes.items():
            self._check(name, value)
        state = self.state | changes
        if self._widget:
            self._widget.state = state
        self._state = state
        return self

    def _check(self, name: str, value: Any) -> None:
        n_layers, n_heads, n_queries, _ = self.data.weights.shape
        choices: dict[str, Sequence[Any]] = {
            "layer": range(n_layers),
            "head": range(MEAN, n_heads),
            "view": VIEWS,
            "step": STEPS if self.data.scores is not None else STEPS[-1:],
            "query": [None, *range(n_queries)],
            "palette": PALETTES,
        } | dict.fromkeys(("joined", "gold", "stretch"), (False, True))
        if name not in choices:
            raise CourseError(f"select knows {', '.join(START)}, got {name!r}: is it misspelt?")
        if value not in choices[name]:
            known = choices[name]
            range_text = f"{known[0]} to {known[-1]}" if len(known) > 4 else list(known)
            raise CourseError(f"{name} must be one of {range_text}, got {value!r}")

    def to_png(self) -> bytes:
        """The heatmap of the layer and head that are shown."""
        return picture(self.data, self.state)

    def to_html(self) -> str:
        """A picture that becomes the explorer where scripts run."""
        return self._markup(self.to_png())

    def _markup(self, png: bytes) -> str:
        alt = describe(self.data, self.state)
        return fragment(self._packed, self.state, png=png, alt=alt)

    def save_png(self, path: str | Path) -> None:
        """Write the picture to a file."""
        Path(path).write_bytes(self.to_png())

    def save_html(self, path: str | Path) -> None:
        """Write the explorer to one file that needs neither a network nor a second file."""
        Path(path).write_text(page(self.to_html(), title=self.data.title), "utf-8")

    def __repr__(self) -> str:
        return digest(self.data, self.state)

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, Any], dict[str, Any]]:
        png = self.to_png()
        data, metadata = bundle(png, repr(self))
        both: dict[str, Any] = {"text/html": self._markup(png), **data}
        # Colab shows markup as it is, and would first ask for a manager of widgets.
        if "google.colab" not in sys.modules:
            view = {"version_major": 2, "version_minor": 0, "model_id": self.widget.model_id}
            both = {WIDGET_VIEW: view, **both}
        return both, metadata


def explore_attention(
    attention: Tensor | np.ndarray,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str] | None = None,
    *,
    kind: Kind | None = None,
    scores: Tensor | np.ndarray | None = None,
    d_head: int | None = None,
    mask: Tensor | np.ndarray | None = None,
    gold: Collection[Link] = (),
    pad: str = "<pad>",
    title: str = "Attention",
) -> AttentionExplorer:
    """Explore where every head of every layer reads: as heatmap, as lines, all heads at once.

    Layers and heads count from 0, as in ``attention[layer, head]``.

    Args:
        attention: (layers, heads, query, key), (heads, query, key) or (query, key).
        query_tokens: one for each row: for cross-attention what is written.
        key_tokens: one for each column: for cross-attention what is read; by default those of
            the queries (self-attention).
        kind: "self", "causal" (a query reads itself and what is before it) or "cross"; by default
            "self" without key tokens and "cross" with them.
        scores: query · key before scaling and mask, of the attention's shape: with them the steps
            from scores to weights can be shown.
        d_head: by whose square root the scores are divided.
        mask: True = may attend, broadcastable to (query, key); leading axes of size 1 are
            dropped, so the model's own masks fit.
        gold: right links (key index, query index), like the ``alignment`` of a sentence pair.
        pad: the token that fills up short sentences.
        title: what is seen.

    Raises:
        CourseError: weights, scores, mask or links that cannot belong together.
        ValueError: weights that do not fit the tokens, or that are transposed; a mask that does
            not broadcast.
        TypeError: a mask that is not boolean.
    """
    return AttentionExplorer(
        attention_data(
            attention,
            query_tokens,
            key_tokens,
            kind=kind,
            scores=scores,
            d_head=d_head,
            mask=mask,
            gold=gold,
            pad=pad,
            title=title,
        )
    )
