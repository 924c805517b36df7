"""When a new output is the stored one: numbers to the last digit, pictures by their blocks, plots
by what they show.
"""

import base64
import binascii
import difflib
import io
import re
import zlib
from decimal import Decimal
from itertools import zip_longest
from typing import Any
from urllib.parse import unquote

import numpy as np
from nbformat import NotebookNode
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from course_lib.widget_output import WIDGET_VIEW
from tools.notebooks.plot_comparison import Tolerance, read_plot

# A number without digits after its point ("1." in a tensor) is a choice or a count: it is exact.
FLOAT = re.compile(r"(?<![\w.])[-+]?\d+\.(\d+)(?:[eE][-+]?\d+)?(?!\w|\.\d)")
# A result of training, with what it may differ by from seed to seed and from machine to machine.
UNCERTAIN = re.compile(r"(?<![\w.])([-+]?\d+(?:\.\d+)?)( ?%)? \(± (\d+(?:\.\d+)?)(?=[ )])")
PICTURE = re.compile(r'<img [^>]*src="data:image/\w+;base64,([^"]+)"')
# A drawing is compared by its words and by each coordinate. Its ids come from its content.
DRAWING = re.compile(
    r'<(?:img class="dw-still"|source)[^>]*src(?:set)?="data:image/svg\+xml,([^"]+)"'
)
DRAWING_ID = re.compile(r"\bd[0-9a-f]{8}(?=[htd]\b)")
PATH_COMMAND = re.compile(r"(?<=\d)(?=[A-Za-z])|(?<=[A-Za-z])(?=-?\d)")
# A plot is compared by its words, its marks and the cells of its heat maps.
PLOT = re.compile(r'<img class="plot"[^>]*src="data:image/svg\+xml,([^"]+)"')
BLOCKS = 32
# Another release of matplotlib stays below 0.05; another head's weights are above 0.25.
PICTURE_TOLERANCE = 0.08
SIZE_TOLERANCE = 4  # pixels: a tight frame follows the width of its labels
# In markup: a picture or packed numbers, and the name that a figure or an explorer has by what it
# holds.
BASE64 = re.compile(r"[A-Za-z0-9+/]{64,}={0,2}")
FIGURE_NAME = re.compile(r"\b[af][0-9a-f]{12}\b")
# What rounding in another order moves; one changed digit in a picture is 0.04.
ROUNDED_PICTURE = 0.035
ROUNDED_BYTE = 4
PLOT_TOLERANCE = Tolerance(distance=4.0, strength=PICTURE_TOLERANCE)
ROUNDED_PLOT = Tolerance(distance=0.1, strength=ROUNDED_PICTURE)


def differences(
    new: list[NotebookNode], stored: list[NotebookNode], *, trained: bool = False
) -> list[str]:
    """What a reader would see changed between two lists of a cell's outputs; empty if nothing.

    Pictures of results of training (``trained``) differ from machine to machine, and only their
    sizes are compared: their numbers are printed with an uncertainty beside them.
    """
    found = [f"writes to stderr:\n{_indent(output.text)}" for output in new if _is_stderr(output)]
    if any(_is_stderr(output) for output in stored):
        found.append("the stored output holds stderr")
    nothing: dict[str, Any] = {}
    parts = zip_longest(shown_parts(stored), shown_parts(new), fillvalue=nothing)
    for number, (old, fresh) in enumerate(parts, 1):
        if old.keys() != fresh.keys():
            kinds = (" and ".join(kept) or "nothing" for kept in (old, fresh))
            found.append("output {}: stored {}, now {}".format(number, *kinds))
            continue
        for kind in old:
            if difference := _difference(kind, fresh[kind], old[kind], trained=trained):
                found.append(f"output {number}, {kind}: {difference}")
    return found


def only_rounded(
    new: list[NotebookNode], stored: list[NotebookNode], *, trained: bool = False
) -> bool:
    """Whether new outputs differ from the stored ones at most as another processor would round.

    Stricter than ``differences``, since it decides what a build may leave as it was: markup, and
    what a widget shows in its other states, are compared, too. If the outputs are results of
    training (``trained``), pictures and packed numbers may differ.
    """
    if differences(new, stored, trained=trained):
        return False
    pages = [
        [o.data["text/html"] for o in outputs if "text/html" in o.get("data", {})]
        for outputs in (new, stored)
    ]
    return len(pages[0]) == len(pages[1]) and all(
        _same_markup(a, b, trained=trained) for a, b in zip(*pages, strict=True)
    )


def shown_parts(outputs: list[NotebookNode]) -> list[dict[str, Any]]:
    """What a reader sees of each output: by kind, text or a picture in base64."""
    return list(filter(None, map(_parts, outputs)))


def same_text(new: str, stored: str) -> bool:
    """Equal, but for floats one unit apart in their last digit and for blanks that align columns.

    A float must keep its number of decimals: `0.123` is not a new form of `0.12`. A number with its
    uncertainty, `0.98 (± 0.02)`, may lie anywhere within the stored one.
    """
    if new == stored:
        return True
    uncertain = [list(UNCERTAIN.finditer(text)) for text in (new, stored)]
    if len(uncertain[0]) != len(uncertain[1]):
        return False
    if not all(_within_uncertainty(a, b) for a, b in zip(*uncertain, strict=True)):
        return False
    new, stored = (UNCERTAIN.sub("± ", text) for text in (new, stored))
    if _skeleton(new) != _skeleton(stored):
        return False
    pairs = zip(FLOAT.finditer(new), FLOAT.finditer(stored), strict=True)
    return all(_within_one_unit(Decimal(a[0]), Decimal(b[0])) for a, b in pairs)


def picture_distance(new: str, stored: str) -> float:
    """The largest difference, 0 to 1, between two pictures in base64, averaged over 32×32 blocks.

    Pictures of different sizes are infinitely far apart.
    """
    pictures = [open_picture(picture) for picture in (new, stored)]
    sizes = np.array([picture.size for picture in pictures])
    if np.abs(sizes[0] - sizes[1]).max() > SIZE_TOLERANCE:
        return float("inf")
    first, second = map(_block_means, pictures)
    return float(np.abs(first - second).max())


def open_picture(picture: str) -> Image.Image:
    """The picture in base64, on white.

    Raises:
        UnidentifiedImageError: it is none.
    """
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGBA")
    page = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(page, image).convert("RGB")


def _is_stderr(output: NotebookNode) -> bool:
    return bool(output.output_type == "stream" and output.name == "stderr")


def _parts(output: NotebookNode) -> dict[str, Any]:
    """A label for each thing that the output shows, and the thing."""
    if output.output_type == "stream":
        return {output.name: output.text}
    if output.output_type == "error":
        return {"error": f"{output.ename}: {output.evalue}"}
    parts = {kind: value for kind, value in output.data.items() if kind != WIDGET_VIEW}
    if picture := PICTURE.search(parts.get("text/html", "")):
        # The markup around it makes the same thing interactive, and may hold fresh ids.
        del parts["text/html"]
        parts["picture"] = picture[1]
    elif plots := PLOT.findall(parts.get("text/html", "")):
        del parts["text/html"]
        parts["plot"] = "\n".join(plots)
    elif drawings := DRAWING.findall(parts.get("text/html", "")):
        del parts["text/html"]
        parts["drawing"] = "\n".join(map(_coordinates, drawings))
    return dict(sorted(parts.items()))


def _coordinates(address: str) -> str:
    """The markup of a drawing, a mark in each line, so that its numbers can be compared."""
    markup = DRAWING_ID.sub("", unquote(address))
    return PATH_COMMAND.sub(" ", markup.replace("><", ">\n<"))


def _difference(kind: str, new: Any, stored: Any, *, trained: bool) -> str:
    if kind == "picture":
        distance = picture_distance(new, stored)
        if distance == float("inf"):
            sizes = (
                f"{picture.width}×{picture.height}" for picture in map(open_picture, (stored, new))
            )
            return "stored {} pixels, now {}".format(*sizes)
        too_far = distance > PICTURE_TOLERANCE and not trained
        return f"distance {distance:.3f} > {PICTURE_TOLERANCE}" if too_far else ""
    if kind == "plot":
        return _plot_difference(new, stored, trained=trained, tolerance=PLOT_TOLERANCE)
    if kind == "drawing" and trained:
        panels = [drawing.count("<svg") for drawing in (stored, new)]
        return "" if panels[0] == panels[1] else "stored {} panels, now {}".format(*panels)
    if not (isinstance(new, str) and isinstance(stored, str)):
        return "" if new == stored else f"stored {stored!r}, now {new!r}"
    return "" if same_text(new, stored) else _as_lines(new, stored)


def _plot_difference(new: str, stored: str, *, trained: bool, tolerance: Tolerance) -> str:
    """What differs between the plots of one output, whose addresses stand in a line each."""
    plots = [[read_plot(address) for address in text.split("\n")] for text in (new, stored)]
    if len(plots[0]) != len(plots[1]):
        return f"stored {len(plots[1])} plots, now {len(plots[0])}"
    for fresh, old in zip(*plots, strict=True):
        if np.abs(np.subtract(fresh.size, old.size)).max() > SIZE_TOLERANCE:
            return "stored {:g}×{:g} pixels, now {:g}×{:g}".format(*old.size, *fresh.size)
        if trained:
            continue
        if not same_text(fresh.words, old.words):
            return _as_lines(fresh.words, old.words)
        if found := fresh.difference(old, tolerance):
            return found
    return ""


def _as_lines(new: str, stored: str) -> str:
    lines = difflib.ndiff(stored.splitlines(), new.splitlines())
    return "(- stored, + now)\n" + _indent("\n".join(line.rstrip("\n") for line in lines))


def _same_markup(new: str, stored: str, *, trained: bool) -> bool:
    if new == stored:
        return True
    plots = ["\n".join(PLOT.findall(page)) for page in (new, stored)]
    if any(plots) and (
        not all(plots) or _plot_difference(*plots, trained=trained, tolerance=ROUNDED_PLOT)
    ):
        return False
    new, stored = (PLOT.sub("", page) for page in (new, stored))
    drawn = [DRAWING.sub(lambda found: _coordinates(found[1]), page) for page in (new, stored)]
    texts = [FIGURE_NAME.sub("", BASE64.sub("", page)) for page in drawn]
    packed = [BASE64.findall(page) for page in (new, stored)]
    return (
        same_text(*texts)
        and len(packed[0]) == len(packed[1])
        and (trained or all(map(_nearly_same, *packed)))
    )


def _nearly_same(new: str, stored: str) -> bool:
    """Whether two pictures, or deflated bytes, in base64 differ by no more than rounding."""
    if new == stored:
        return True
    try:
        return picture_distance(new, stored) <= ROUNDED_PICTURE
    except (UnidentifiedImageError, binascii.Error):
        pass
    try:
        first, second = (
            np.frombuffer(zlib.decompress(base64.b64decode(data)), np.uint8)
            for data in (new, stored)
        )
    except (zlib.error, binascii.Error):
        return False
    if len(first) != len(second):
        return False
    difference = first - second  # of bytes, so that 255 is next to 0
    return bool(np.minimum(difference, -difference).max(initial=0) <= ROUNDED_BYTE)


def _skeleton(text: str) -> str:
    """The text with each float replaced by its number of decimals, and blanks squeezed."""
    return " ".join(FLOAT.sub(lambda match: f" <{len(match[1])}> ", text).split())


def _within_one_unit(new: Decimal, stored: Decimal) -> bool:
    exponent = stored.as_tuple().exponent
    assert isinstance(exponent, int)  # FLOAT matches neither nan nor inf
    return bool(abs(new - stored) <= Decimal(1).scaleb(exponent))


def _within_uncertainty(new: re.Match[str], stored: re.Match[str]) -> bool:
    """The number may move by the stored uncertainty; the uncertainty itself, by half of it."""
    values = [(Decimal(match[1]), match[2], Decimal(match[3])) for match in (new, stored)]
    (number, unit, error), (number_before, unit_before, error_before) = values
    near = abs(number - number_before) <= error_before or _within_one_unit(number, number_before)
    alike = abs(error - error_before) <= error_before / 2 or _within_one_unit(error, error_before)
    return unit == unit_before and near and alike


def _block_means(image: Image.Image) -> NDArray[np.float64]:
    blocks = image.resize((BLOCKS, BLOCKS), Image.Resampling.BOX)
    return np.asarray(blocks, dtype=np.float64) / 255


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
