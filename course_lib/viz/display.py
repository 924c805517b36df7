"""What a notebook stores of a plot: one picture, and its alt text.

The picture is an SVG in the colours of its page's theme; a PNG where an SVG would be larger.
"""

from io import BytesIO

import numpy as np
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from course_lib.viz.alt_text import describe
from course_lib.viz.figure_html import figure_html
from course_lib.viz.plot_svg import to_svg
from course_lib.viz.style import figure_of, styled

MOST_SVG = 60_000  # characters: of more, a browser and a notebook's difference become slow
VISIBLE = 48  # of 255: a larger error would change the colour visibly


@styled
def pixels_of(picture: Axes | Figure) -> NDArray[np.uint8]:
    """The picture as (height, width, 3)."""
    canvas = FigureCanvasAgg(figure_of(picture))
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]


def to_png(picture: Axes | Figure) -> bytes:
    """The picture as a PNG; equal pictures give equal bytes.

    256 colours are enough for every plot here, and make the file about three times smaller.
    """
    pixels = pixels_of(picture)
    buffer = BytesIO()
    indexed = Image.fromarray(pixels).quantize(256, dither=Image.Dither.NONE)
    if np.abs(np.asarray(indexed.convert("RGB")).astype(int) - pixels).max() > VISIBLE:
        # Median cut favours frequent colours. With many half-transparent lines it loses rare pure
        # ones, such as those of a legend; maximum coverage keeps them.
        indexed = Image.fromarray(pixels).quantize(
            256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        )
    indexed.save(buffer, format="png", optimize=True)
    return buffer.getvalue()


def stored(picture: Axes | Figure) -> str | bytes:
    """The picture as a notebook stores it: an SVG, or a PNG if the SVG were too large."""
    svg = to_svg(picture)
    return svg if len(svg) <= MOST_SVG else to_png(picture)


def bundle(picture: str | bytes, alt: str) -> dict[str, str]:
    """Data of one notebook output: the picture as HTML, and its alt text as text/plain, which is
    what a reader without images sees, and what the test of the stored outputs compares.

    Raises:
        ValueError: the alt text is empty.
    """
    if not alt.strip():
        raise ValueError(
            "a picture needs an alt text of one or two sentences, got an empty one: "
            "say what the picture shows, with one number from it"
        )
    return {"text/html": figure_html(picture, alt), "text/plain": alt}


def show_figure(picture: Axes | Figure, alt: str | None = None) -> None:
    """Show a picture in the notebook, once, with its alt text; outside a notebook, print the text.

    Args:
        picture: what a plotting function returned.
        alt: one or two sentences that say what the picture shows, with one number from it; by
            default the alt text of the plotting function (`describe`).

    Raises:
        ValueError: the alt text is empty, or omitted for a picture that has none of its own.
    """
    if alt is None:
        alt = describe(figure_of(picture))  # the whole figure is shown, not only these axes
    data = bundle(stored(picture), alt)
    # A figure made with pyplot would be shown again at the end of the cell.
    pyplot.close(figure_of(picture))
    if InteractiveShell.initialized():
        display(data, raw=True)
    else:
        print(alt)
