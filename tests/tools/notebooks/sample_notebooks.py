"""Tiny notebooks and pictures for tests."""

import base64
import io
from collections.abc import Sequence
from typing import Any

import nbformat
import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from nbformat import NotebookNode
from numpy.typing import ArrayLike


def code(name: str, source: str, outputs: Sequence[NotebookNode] = (), **metadata: Any) -> Any:
    """A code cell that looks as if it had been run."""
    return nbformat.v4.new_code_cell(
        source, id=name, outputs=list(outputs), execution_count=1, metadata=metadata
    )


def markdown(name: str, source: str) -> Any:
    """A text cell."""
    return nbformat.v4.new_markdown_cell(source, id=name)


def notebook(*cells: Any) -> Any:
    """A notebook of these cells, after a title."""
    return nbformat.v4.new_notebook(cells=[markdown("title", "# A lesson"), *cells])


def stream(text: str, name: str = "stdout") -> Any:
    """What `print` shows."""
    return nbformat.v4.new_output("stream", name=name, text=text)


def image(png: str, alt: str) -> str:
    """HTML of a picture given as base64."""
    return f'<img alt="{alt}" src="data:image/png;base64,{png}">'


def bundle(**data: str) -> Any:
    """What `display` shows: `html` for short, and `plain`; a `png` is put into HTML."""
    kinds = {"html": "text/html", "plain": "text/plain", "svg": "image/svg+xml"}
    if "png" in data:
        data["html"] = image(data.pop("png"), data.get("plain", ""))
    return nbformat.v4.new_output(
        "display_data", data={kinds[kind]: value for kind, value in data.items()}
    )


def heatmap(weights: ArrayLike, *, dpi: int = 80, smooth_text: bool = True) -> str:
    """A map of attention weights, drawn by matplotlib, as base64 PNG."""
    with rc_context({"text.antialiased": smooth_text}):
        figure = Figure(figsize=(4, 3), dpi=dpi)
        axes = figure.subplots()
        axes.imshow(np.asarray(weights), vmin=0, vmax=1)
        return png(figure)


def png(figure: Figure) -> str:
    """The figure as base64 PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return base64.b64encode(buffer.getvalue()).decode("ascii")
