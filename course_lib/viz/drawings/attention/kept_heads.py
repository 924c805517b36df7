"""Which numbers of a token stay: keys and values of each head, of a group of heads, or a latent."""

from __future__ import annotations

from collections.abc import Mapping

from course_lib.modern import DecoderConfig, cache_numbers_per_token
from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import Drawing, Panel
from course_lib.viz.drawings.marks import element, label, number, text_width

PANEL = 216.0  # the width: three fill a line of text
BOX, GAP = 20.0, 6.0  # a head, and between two
QUERIES, KEPT = 52.0, 104.0  # the tops of the rows
LATENT = 156.0  # the top of the latent, below the keys that are made from it
MOST = 8  # heads that have room


def draw_kept_heads(models: Mapping[str, DecoderConfig], *, caption: str = "") -> Drawing:
    """Draw one layer of each model: heads of queries above, what is kept of a token below.

    A line leads from a head of queries to the keys that it reads. What the cache keeps is in the
    accent, keys that are made from a latent and not kept are dashed.

    Args:
        models: the title of a panel -> the configuration.
        caption: one sentence that a person would say.

    Raises:
        ValueError: a model has more heads than there is room for.
    """
    for config in models.values():
        if config.n_heads > MOST:
            raise ValueError(f"expected at most {MOST} heads, got {config.n_heads}")
    return Drawing(*(_panel(title, config) for title, config in models.items()), caption=caption)


def _panel(title: str, config: DecoderConfig) -> Panel:
    heads, kept = config.n_heads, cache_numbers_per_token(config)
    has_latent = config.d_latent is not None
    keys = heads if has_latent else config.resolved_n_kv_heads
    queries = [_middle(i, heads, heads) for i in range(heads)]
    bodies = [_middle(i, keys, heads) for i in range(keys)]
    graphics = [label((0, QUERIES - 12), "queries of each head", cls="aside", anchor="start")]
    for i, x in enumerate(queries):
        read = bodies[i * keys // heads]
        line = f"M{number(x)} {number(QUERIES + BOX)}L{number(read)} {number(KEPT)}"
        graphics.append(element("path", d=line, stroke=ink("line"), fill="none"))
        graphics.append(_box(x, QUERIES, str(i), fill="fill", stroke="line"))
    for x in bodies:
        for j, word in enumerate("kv"):
            look = {"fill": "page", "stroke": "line", "dashes": "3 3"} if has_latent else {}
            graphics.append(_box(x, KEPT + j * BOX, word, **look))
    bottom = KEPT + 2 * BOX
    if has_latent:
        graphics.append(_latent(config, queries))
        bottom = LATENT + BOX + 14
    words = f"{_sum(config)} = {kept:,} numbers"
    graphics.append(label((0, bottom + 18), words, cls="bold", anchor="start"))
    return Panel(
        title=title,
        description=_told(config),
        body="".join(graphics),
        height=bottom + 30,
        width=PANEL,
    )


def _middle(i: int, count: int, heads: int) -> float:
    """Of the i-th of ``count`` boxes, spaced like the heads that each of them serves."""
    share = heads / count
    return (i * share + (share - 1) / 2) * (BOX + GAP) + BOX / 2 + 1


def _box(
    middle: float,
    top: float,
    word: str,
    *,
    fill: str = "accent",
    stroke: str = "accent",
    dashes: str | None = None,
) -> str:
    box = element(
        "rect",
        x=middle - BOX / 2,
        y=top,
        width=BOX,
        height=BOX - 2,
        rx=4,
        fill=ink(fill),
        stroke=ink(stroke),
        stroke_dasharray=dashes,
    )
    colour = "page" if fill == "accent" else None
    return box + label((middle, top + BOX / 2 - 1), word, cls="aside bold", colour=colour)


def _latent(config: DecoderConfig, queries: list[float]) -> str:
    """The latent as a wide box, with a line up to each head, and its rotary key beside it."""
    left, right = queries[0] - BOX / 2, queries[-1] + BOX / 2
    words = f"latent, {config.d_latent:,}"
    graphics = [
        element(
            "path",
            d="".join(f"M{number(x)} {number(KEPT + 2 * BOX - 2)}V{LATENT:g}" for x in queries),
            stroke=ink("line"),
            stroke_dasharray="3 3",
        )
    ]
    end = right
    if config.d_rotary:
        rotary = f"key, {config.d_rotary:,}"
        width = text_width(rotary, 12, bold=True) + 12
        end = right - width - 6
        graphics.append(_wide(right - width, right, rotary))
    graphics.append(_wide(left, end, words))
    return "".join(graphics)


def _wide(left: float, right: float, words: str) -> str:
    box = element(
        "rect",
        x=left,
        y=LATENT,
        width=right - left,
        height=BOX + 4,
        rx=4,
        fill=ink("accent"),
        stroke=ink("accent"),
    )
    middle = ((left + right) / 2, LATENT + BOX / 2 + 2)
    return box + label(middle, words, cls="aside bold", colour="page")


def _sum(config: DecoderConfig) -> str:
    if config.d_latent is not None:
        return f"{config.d_latent:,} + {config.d_rotary:,}"
    return f"2 × {config.resolved_n_kv_heads} × {config.resolved_d_head:,}"


def _told(config: DecoderConfig) -> str:
    kept = f"{cache_numbers_per_token(config):,} numbers are kept of a token in a layer"
    heads = f"{config.n_heads} heads of queries"
    if config.d_latent is not None:
        rotary = f" and one key of {config.d_rotary:,} that is turned" if config.d_rotary else ""
        return (
            f"{heads} read keys and values that are made from one latent of {config.d_latent:,} "
            f"numbers; what stays is the latent{rotary}, {kept}."
        )
    keys = config.resolved_n_kv_heads
    each = config.n_heads // keys
    share = "each has its own" if each == 1 else f"{each} of them read the same"
    return f"{heads}, {keys} of keys and values: {share}; {kept}."
