"""The attention explorer: every layer and head of one sentence, in an interactive figure."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from course_lib.errors import CourseError
from course_lib.viz.explorer.explorer_constants import ALL, START
from course_lib.viz.explorer.explorer_data import (
    AttentionData,
    AttentionKind,
    Language,
    as_scores,
    as_vectors,
    as_weights,
)
from course_lib.viz.explorer.explorer_live import MODULE, STYLESHEET, LiveExplorer
from course_lib.viz.explorer.explorer_pack import pack
from course_lib.viz.explorer.explorer_picture import picture
from course_lib.viz.explorer.explorer_state import state_after
from course_lib.viz.explorer.explorer_words import describe, digest
from course_lib.viz.figure_html import picture_tag
from course_lib.viz.plots.plot_alignment import Link
from course_lib.viz.web.live_html import live_fragment, page
from course_lib.widget_output import widget_output

STILL = (
    "<p>This is a still picture of the attention explorer. To explore, run this cell; on a page, "
    "allow scripts.</p>"
)


class AttentionExplorer:
    """Attention weights to explore in a notebook or a web page. Made by `explore_attention`, or
    by `explore_model` with a tab for each kind of attention.

    In a live notebook Python can follow: `state` is what is shown, and `select` changes it. It is
    just as interactive without a kernel. Where no script runs, there is a picture.
    """

    def __init__(self, *shown: AttentionData) -> None:
        self._shown: dict[str, AttentionData] = {data.kind: data for data in shown}
        self._state = START | {"kind": shown[0].kind}
        if any(data.second_sentence is not None for data in shown):
            self._state["sentences"] = ALL
        self._widget: LiveExplorer | None = None

    @cached_property
    def _packed(self) -> bytes:
        return pack(*self._shown.values())

    @property
    def data(self) -> AttentionData:
        """The kind of attention that is shown now."""
        return self._shown[self.state["kind"]]

    @property
    def state(self) -> dict[str, Any]:
        """What is shown now; in a live notebook, what the reader chose last."""
        return dict(self._widget.state if self._widget else self._state)

    @property
    def widget(self) -> LiveExplorer:
        """The live widget, made when it is first asked for: Colab needs none."""
        if self._widget is None:
            self._widget = LiveExplorer(data=self._packed, state=self._state)
        return self._widget

    def select(self, **changes: Any) -> AttentionExplorer:
        """Show something else, as in ``select(layer=2, head=MEAN, view="lines")``.

        Args:
            changes: kind ("self", "causal", "cross": the tab), layer, head (-1 for the mean of all
                heads), view ("heatmap", "lines", "heads", "grid"), step ("scores", "scaled",
                "masked", "weights"), query (the locked row or None), key (the cell of that row
                that is opened, or None), heads (a list: those that the lines compare), layers (a
                list: those in the grid), joined, gold, stretch (True or False), palette
                ("slate", "viridis", "cividis", "grey"). With ``second_sentence``, also sentences
                ("all", or "AB" for the queries of sentence A and the keys of sentence B, "AA",
                "BA", "BB").

        Raises:
            CourseError: a name or a value that this explorer does not have.
        """
        self._state = state_after(self.state, changes, self._shown)
        if self._widget:
            self._widget.state = self._state
        return self

    def to_png(self) -> bytes:
        """The heatmap of the layer and head that are shown."""
        return picture(self._shown, self.state)

    def to_html(self) -> str:
        """A picture that becomes the explorer where scripts run."""
        image = picture_tag(self.to_png(), describe(self._shown, self.state))
        code = {"module": MODULE, "style": STYLESHEET, "state": self.state}
        return live_fragment(f"{image}{STILL}", code, self._packed)

    def save_html(self, path: str | Path) -> None:
        """Write the explorer to one file that needs neither a network nor a second file."""
        Path(path).write_text(page(self.to_html(), title=self.data.title), "utf-8")

    def __repr__(self) -> str:
        return digest(self._shown, self.state)

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        both: dict[str, Any] = {"text/html": self.to_html(), "text/plain": repr(self)}
        # Colab shows markup as it is, but would ask for a widget manager first.
        if "google.colab" not in sys.modules:
            both = widget_output(self.widget.model_id) | both
        return both


def explore_attention(
    attention: Tensor | np.ndarray,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str] | None = None,
    *,
    kind: AttentionKind | None = None,
    scores: Tensor | np.ndarray | None = None,
    d_head: int | None = None,
    queries: Tensor | np.ndarray | None = None,
    keys: Tensor | np.ndarray | None = None,
    mask: Tensor | np.ndarray | None = None,
    gold: Collection[Link] = (),
    pad: str = "<pad>",
    second_sentence: int | None = None,
    languages: tuple[Language, Language] | None = None,
    layer_names: Sequence[str] = (),
    head_names: Sequence[str] = (),
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
        queries: (layers, heads, query, d_head), before the division by √d_head. With them and the
            ``keys``, in place of scores, a click on a cell shows each product of query · key.
            They are stored, too: about as many bytes as the attention if the sentence is as long
            as d_head.
        keys: (layers, heads, key, d_head).
        mask: True = may attend, broadcastable to (query, key); leading axes of size 1 are
            dropped, so the model's own masks fit.
        gold: right links (key index, query index), like the ``alignment`` of a sentence pair.
        pad: the padding token.
        second_sentence: where one sequence holds two sentences, A and B, as the input of encoders
            like BERT does: the index of B's first token, usually that after the separator. Then
            the reader can choose to see all weights, or only those from A to A, A to B, B to A or
            B to B. What is outside is left out; weights are not renormalised, so rows that are
            seen in part sum to less than 1, and entropies are those of whole rows.
        languages: of the queries and of the keys, "german" or "english", for the words' colours.
        layer_names: what the first axis stands for where it is not the layers, such as two
            versions of a layer; ``view="grid"`` shows them one below the other.
        head_names: what the heads stand for.
        title: what is shown, for the heading and the alt text.

    Raises:
        CourseError: weights, scores, queries, keys, mask, links or names that cannot belong
            together; unknown languages; a second sentence that begins outside the tokens, or with
            other than self-attention.
        ValueError: weights that do not fit the tokens, or that are transposed; a mask that does
            not broadcast.
        TypeError: a mask that is not boolean.
    """
    weights, query_tokens = as_weights(attention), tuple(query_tokens)
    if (queries is None) != (keys is None) or (queries is not None and scores is not None):
        raise CourseError(
            "the steps to the weights start either from scores and d_head or from queries and "
            "keys: give one of the two pairs"
        )
    raw = None if scores is None else as_scores(scores, weights)
    vectors = None if queries is None or keys is None else as_vectors(queries, keys, weights)
    if vectors is not None:
        raw, d_head = vectors[0] @ vectors[1].swapaxes(-2, -1), vectors[0].shape[-1]
    data = AttentionData(
        title=title,
        kind=kind or ("self" if key_tokens is None else "cross"),
        weights=weights,
        query_tokens=query_tokens,
        key_tokens=query_tokens if key_tokens is None else tuple(key_tokens),
        mask=mask,
        scores=raw,
        d_head=d_head,
        queries=vectors and vectors[0],
        keys=vectors and vectors[1],
        gold=tuple(sorted((int(key), int(query)) for key, query in gold)),
        pad=pad,
        second_sentence=second_sentence,
        languages=languages,
        layer_names=tuple(layer_names),
        head_names=tuple(head_names),
    )
    return AttentionExplorer(data)
