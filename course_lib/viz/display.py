"""From a drawn picture to what a notebook stores: one PNG and, beside it, the same in words."""

import base64
from io import BytesIO

import numpy as np
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from course_lib.viz.style import figure_of, styled
from course_lib.viz.alt_text import describe

VISIBLE = 48  # of 255: a colour that is farther off would be another one


@styled
def to_png(picture: Axes | Figure) -> bytes:
    """The picture as PNG, the same bytes for the same picture.

    256 colours are enough for every plot here, and make the file about a third as large.
    """
    canvas = FigureCanvasAgg(figure_of(picture))
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[..., :3]
    buffer = BytesIO()
    few = Image.fromarray(pixels).quantize(256, dither=Image.Dither.NONE)
    if np.abs(np.asarray(few.convert("RGB")).astype(int) - pixels).max() > VISIBLE:
        # Many half-transparent lines: the cut through the commonest colours loses the rare pure
        # ones, a legend's say, so they are covered instead.
        few = Image.fromarray(pixels).quantize(
            256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        )
    few.save(buffer, format="png", optimize=True)
    return buffer.getvalue()


def bundle(png: bytes, alt: str) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Data and metadata of one notebook output.

    The words stand twice. As text/plain they are what a reader without pictures sees, and what
    the test of the stored outputs compares. As metadata they become the picture's ``alt`` in
    pages made by nbconvert; JupyterLab 4 does not read them.

    Raises:
        ValueError: the words are missing.
    """
    if not alt.strip():
        raise ValueError(
            "a picture needs an alt text of one or two sentences, got an empty one: "
            "say what is seen, with one number from it"
        )
    data = {"image/png": base64.b64encode(png).decode("ascii"), "text/plain": alt}
    return data, {"image/png": {"alt": alt}}


def show_figure(picture: Axes | Figure, alt: str | None = None) -> None:
    """Show a picture in the notebook, once, with its alt text; outside a notebook, print the text.

    Args:
        picture: what a plotting function returned.
        alt: one or two sentences that say what is seen, with one number from it; by default what
            the plotting function itself says (`describe`).

    Raises:
        ValueError: the alt text is empty, or left out for a picture without words.
    """
    if alt is None:
        alt = describe(figure_of(picture))  # the whole figure is shown, not these axes alone
    data, metadata = bundle(to_png(picture), alt)
    # Figures made with pyplot would be shown again when the cell ends.
    pyplot.close(figure_of(picture))
    if InteractiveShell.initialized():
        display(data, metadata=metadata, raw=True)
    else:
        print(alt)
