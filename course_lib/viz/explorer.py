"""The attention explorer: every layer and head of one sentence, in an interactive figure."""

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
from course_lib.viz.explorer_constants import MEAN, PALETTES, START, STEPS, VIEWS
from course_lib.viz.explorer_data import AttentionData, AttentionKind, as_scores, as_weights, pack
from course_lib.viz.explorer_page import fragment, page
from course_lib.viz.explorer_picture import describe, digest, picture
from course_lib.viz.plot_alignment import Link

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


class AttentionExplorer:
    """Attention weights to explore in a notebook or a web page. Made by `explore_attention`.

    In a live notebook Python can follow: `state` is what is shown, and `select` changes it. It is
    just as interactive without a kernel. Where no script runs, there is a picture.
    """

    def __init__(self, data: AttentionData) -> None:
        self.data = data
        self._state = dict(START)
        self._packed = pack(data)
        self._widget: Any = None

    @property
    def state(self) -> dict[str, Any]:
        """What is shown now; in a live notebook, what the reader chose last."""
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
            CourseError: a name or a value that this explorer does not have.
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
        # Colab shows markup as it is, but would ask for a widget manager first.
        if "google.colab" not in sys.modules:
            view = {"version_major": 2, "version_minor": 0, "model_id": self.widget.model_id}
            both = {WIDGET_VIEW: view, **both}
        return both, metadata


def explore_attention(
    attention: Tensor | np.ndarray,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str] | None = None,
    *,
    kind: AttentionKind | None = None,
    scores: Tensor | np.ndarray | None = None,
    d_head: int | None = None,
    mask: Tensor | np.ndarray | None = None,
    gold: Collection[Link] = (),
    pad: str = "<pad>",
    title: str = "Attention",
) -> AttentionExplorer:
    """Explore the attention of every head and layer: as heatmap, as lines, all heads at once.

    Layers and heads count from 0, as in ``attention[layer, head]``.

    Args:
        attention: (layers, heads, query, key), (heads, query, key) or (query, key).
        query_tokens: one for each row; for cross-attention those of the target.
        key_tokens: one for each column; for cross-attention those of the source. By default the
            query tokens (self-attention).
        kind: "self", "causal" (no query attends to a later position) or "cross"; by default
            "self" without key tokens and "cross" with them.
        scores: query · key before scaling and mask, in the shape of the attention. With them the
            explorer shows the steps from scores to weights.
        d_head: the scores are divided by its square root.
        mask: True = may attend, broadcastable to (query, key); leading axes of size 1 are
            dropped, so the model's own masks fit.
        gold: right links (key index, query index), like the ``alignment`` of a sentence pair.
        pad: the padding token.
        title: what is shown, for the heading and the alt text.

    Raises:
        CourseError: weights, scores, mask or links that cannot belong together.
        ValueError: weights that do not fit the tokens, or that are transposed; a mask that does
            not broadcast.
        TypeError: a mask that is not boolean.
    """
    weights, queries = as_weights(attention), tuple(query_tokens)
    data = AttentionData(
        title=title,
        kind=kind or ("self" if key_tokens is None else "cross"),
        weights=weights,
        query_tokens=queries,
        key_tokens=queries if key_tokens is None else tuple(key_tokens),
        mask=mask,
        scores=None if scores is None else as_scores(scores, weights),
        d_head=d_head,
        gold=tuple(sorted((int(key), int(query)) for key, query in gold)),
        pad=pad,
    )
    return AttentionExplorer(data)
