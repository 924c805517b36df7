"""The attention explorer without a script: one picture.

Drawn with Pillow, in a tenth of matplotlib's time and about half of its bytes: every explorer in a
notebook draws and stores one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from PIL import Image, ImageColor, ImageDraw, ImageFont

from course_lib.viz.drawings.colours import COLOURS
from course_lib.viz.explorer.explorer_constants import PALETTES
from course_lib.viz.explorer.explorer_data import AttentionData
from course_lib.viz.explorer.explorer_words import Shown, heading, shown_part
from course_lib.viz.plots.heatmaps import KEY_AXIS, MOST_NUMBERED_CELLS, QUERY_AXIS

INK, SOFT = COLOURS["ink"].light, COLOURS["soft"].light
LANGUAGES: dict[str, str] = {name: COLOURS[name].light for name in ("german", "english")}
HATCHED, HATCH = (236, 238, 241), (154, 163, 174)
SIZE = 12  # of the letters; this and all lengths below are in pixels
WIDEST_LABEL = 130
NOTE = 16  # the height of a line below the legend
LEAST_NUMBER = 0.005  # smaller weights would be written as 0.00
_PUNCTUATION = re.compile(r"[^\w\s]{1,2}")


@dataclass(frozen=True, kw_only=True)
class PictureLayout:
    """Where things are, in pixels: the matrix, the side of its cells, and the whole picture."""

    left: int
    top: int
    cell: int
    horizontal: bool  # whether the key labels are; otherwise they are vertical
    heading: tuple[str, ...]  # its lines
    width: int
    height: int


def picture(shown: Mapping[str, AttentionData], state: Mapping[str, Any]) -> bytes:
    """The heatmap of the chosen head as a small PNG; the cells of gold links have thick frames.

    Args:
        shown: the attention, by its kind.
        state: what is chosen.
    """
    pad, part = shown[state["kind"]].pad, shown_part(shown[state["kind"]], state)
    at = layout_of(part, heading(shown, state))
    image = Image.new("RGB", (at.width, at.height), "white")
    colours = _colours(part, pad, state["palette"])
    image.paste(Image.fromarray(_pixels(part, colours, at.cell)), (at.left, at.top))
    pen = ImageDraw.Draw(image)
    for number, line in enumerate(at.heading):
        pen.text((10, 10 + 20 * number), line, INK, _font(15, bold=True))
    inks = _inks(part, pad)
    _write_labels(image, part, at, inks)
    if at.cell >= 32 and part.allowed.size <= MOST_NUMBERED_CELLS:
        _write_numbers(pen, part, colours, at)
    for key, query in part.gold if state["gold"] else ():
        x, y = at.left + key * at.cell, at.top + query * at.cell
        pen.rectangle((x, y, x + at.cell - 1, y + at.cell - 1), outline=INK, width=3)
        pen.rectangle((x + 3, y + 3, x + at.cell - 4, y + at.cell - 4), outline="white")
    _draw_legend(image, part, state["palette"], at)
    buffer = BytesIO()
    few = _few_colours(state["palette"], {*inks[0], *inks[1]} - {INK, SOFT})
    image.quantize(palette=few, dither=Image.Dither.NONE).save(buffer, format="png", optimize=True)
    return buffer.getvalue()


def layout_of(part: Shown, title: str) -> PictureLayout:
    """Measures the labels and the title, and finds room for all."""
    rows, columns = part.allowed.shape
    cell = max(4, min(36, 600 // columns, 640 // rows))
    widths = [_width(_label(token), SIZE) for token in part.key_tokens]
    horizontal = max(widths) <= cell - 4
    above = SIZE if horizontal else min(max(widths), WIDEST_LABEL)
    rows_wide = max(_width(_label(token), SIZE) for token in part.query_tokens)
    left = max(min(rows_wide, WIDEST_LABEL), _width(f"{QUERY_AXIS} ↓", SIZE)) + 20
    width = left + max(columns * cell, 300) + 12
    lines = _wrapped(title, width - 20, 15)
    top = 18 + 20 * len(lines) + 20 + above + 6
    return PictureLayout(
        left=left,
        top=top,
        cell=cell,
        horizontal=horizontal,
        heading=lines,
        width=width,
        height=top + rows * cell + 34 + NOTE * len(part.notes),
    )


@cache
def _font(size: int, *, bold: bool = False) -> ImageFont.FreeTypeFont:
    file = f"fonts/ttf/DejaVuSans{'-Bold' if bold else ''}.ttf"  # comes with matplotlib
    path = Path(matplotlib.get_data_path()) / file
    return ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)


def _width(text: str, size: int, *, bold: bool = False) -> int:
    return round(_font(size, bold=bold).getlength(text))


def _label(token: str) -> str:
    """In quotes where a comma would look like a speck, and a space or a new line like nothing."""
    text = token.replace("\n", "↵").replace("\t", "⇥")
    quoted = _PUNCTUATION.fullmatch(text) or not text.strip() or text != token
    return f"“{text}”" if quoted else text


def _wrapped(text: str, width: int, size: int) -> tuple[str, ...]:
    lines: list[str] = []
    for word in text.split():
        if lines and _width(f"{lines[-1]} {word}", size, bold=True) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return tuple(lines)


def _palette(name: str) -> np.ndarray:
    """256 colours, (256, red-green-blue)."""
    stops = np.array([list(bytes.fromhex(colour)) for colour in PALETTES[name].split()])
    at = np.linspace(0, len(stops) - 1, 256)
    channels = [np.interp(at, range(len(stops)), channel) for channel in stops.T]
    return np.stack(channels, axis=-1).round().astype(np.uint8)


def _few_colours(palette: str, words: Collection[str]) -> Image.Image:
    """Few colours that the picture is reduced to: a notebook stores it twice, also in the HTML.

    Pillow would choose those that are frequent, and lose some words. It takes a near colour for
    the nearest, so none may be near white.
    """
    ramps = [_palette(palette)[np.linspace(0, 255, 20).round().astype(int)]]
    for colour, count in (
        (INK, 10),
        (SOFT, 6),
        *((each, 6) for each in words),
    ):  # and their edges, faded to white
        shares = np.linspace(1, 0, count, endpoint=False)[:, None]
        ramps.append(shares * ImageColor.getrgb(colour) + (1 - shares) * 255)
    chosen = np.concatenate([*ramps, [HATCHED, HATCH, (255, 255, 255)]]).round().astype(np.uint8)
    few = Image.new("P", (1, 1))
    few.putpalette(chosen.tobytes())
    return few


def _colours(part: Shown, pad: str, palette: str) -> np.ndarray:
    """The colour of each cell, (query, key, red-green-blue); rows of padding are faded."""
    colours = _palette(palette)[np.rint(part.weights.clip(0, 1) * 255).astype(int)]
    pads = np.array([token == pad for token in part.query_tokens])
    colours[pads] = (0.35 * colours[pads] + 0.65 * 255).astype(np.uint8)
    return colours


def _pixels(part: Shown, colours: np.ndarray, cell: int) -> np.ndarray:
    pixels = colours.repeat(cell, axis=0).repeat(cell, axis=1)
    hidden = (~part.allowed).repeat(cell, axis=0).repeat(cell, axis=1)
    return np.where(hidden[..., None], _hatching(*hidden.shape), pixels)


def _hatching(height: int, width: int) -> np.ndarray:
    """Diagonal lines, (height, width, red-green-blue)."""
    y, x = np.indices((height, width))
    return np.where(((x + y) % 6 == 0)[..., None], HATCH, HATCHED).astype(np.uint8)


def _inks(part: Shown, pad: str) -> list[list[str]]:
    """The colour of each query's word and of each key's: that of its language, if it is known."""
    colours = [LANGUAGES[language] for language in part.languages] or [INK, INK]
    sides = zip((part.query_tokens, part.key_tokens), colours, strict=True)
    return [[SOFT if token == pad else colour for token in tokens] for tokens, colour in sides]


def _write_labels(
    image: Image.Image, part: Shown, at: PictureLayout, inks: Sequence[Sequence[str]]
) -> None:
    pen, font, gap = ImageDraw.Draw(image), _font(SIZE), 8
    every = -(-14 // at.cell)  # label one in so many rows and columns
    caption = at.top - 12
    pen.text((at.left - gap, caption), f"{QUERY_AXIS} ↓", SOFT, font, anchor="rm")
    y = 18 + 20 * len(at.heading) + 8
    pen.text((at.left, y), f"{KEY_AXIS} →", SOFT, font, anchor="lm")
    for row, token in list(enumerate(part.query_tokens))[::every]:
        end = at.left - gap, at.top + round((row + 0.5) * at.cell)
        pen.text(end, _cut(_label(token)), inks[0][row], font, anchor="rm")
    for column, token in list(enumerate(part.key_tokens))[::every]:
        x, text = at.left + round((column + 0.5) * at.cell), _cut(_label(token))
        if at.horizontal or _PUNCTUATION.fullmatch(token):
            pen.text((x, at.top - 5), text, inks[1][column], font, anchor="ms")
            continue
        size = _width(text, SIZE) + 2, 18
        strip = Image.new("RGB", size, "white")
        ImageDraw.Draw(strip).text((0, size[1] // 2), text, inks[1][column], font, anchor="lm")
        turned = strip.rotate(90, expand=True)
        image.paste(turned, (x - size[1] // 2, at.top - 5 - turned.height))


def _cut(text: str) -> str:
    if _width(text, SIZE) <= WIDEST_LABEL:
        return text
    while _width(f"{text}…", SIZE) > WIDEST_LABEL:
        text = text[:-1]
    return f"{text}…"


def _write_numbers(
    pen: ImageDraw.ImageDraw, part: Shown, colours: np.ndarray, at: PictureLayout
) -> None:
    bright = colours @ np.array([0.299, 0.587, 0.114]) > 125
    for query, key in np.argwhere(part.allowed & (part.weights >= LEAST_NUMBER)):
        middle = (at.left + (key + 0.5) * at.cell, at.top + (query + 0.5) * at.cell)
        colour = INK if bright[query, key] else "white"
        text = f"{part.weights[query, key]:.2f}"
        pen.text(middle, text, colour, _font(SIZE), anchor="mm")


def _draw_legend(image: Image.Image, part: Shown, palette: str, at: PictureLayout) -> None:
    pen, font = ImageDraw.Draw(image), _font(SIZE)
    x, size = at.left, 12
    y = at.height - (16 + NOTE * len(part.notes))

    def write(text: str) -> int:
        pen.text((x, y), text, SOFT, font, anchor="lm")
        return x + _width(text, SIZE) + 6

    def sample(pixels: np.ndarray) -> int:
        image.paste(Image.fromarray(pixels), (x, y - size // 2))
        return x + pixels.shape[1] + 6

    x = write("0")
    strip = _palette(palette)[np.linspace(0, 255, 90).astype(int)]
    x = sample(np.repeat(strip[None], size, axis=0))
    x = write("1 weight") + 8
    if not part.allowed.all():
        x = sample(_hatching(size, size))
        x = write("masked") + 8
    if part.gold:
        pen.rectangle((x, y - size // 2, x + size, y + size // 2), outline=INK, width=3)
        x += size + 6
        write("gold link")
    x = at.left
    for note in part.notes:
        y += NOTE
        write(note)
