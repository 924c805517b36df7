"""One word's way through attention in four frames, with its numbers (section 3.2.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import Film, Frame, Panel
from course_lib.viz.drawings.marks import (
    arrow,
    element,
    flow,
    group,
    label,
    signed,
    step_dots,
    token,
    vector,
)

TITLES = ("Ask", "Compare", "Share", "Mix")
FIRST, ROW = 78, 48  # the height of the first word's middle, and from one to the next
MOST_WORDS = 5


def draw_attention(
    words: Sequence[str],
    x: Float[Tensor, "words d_model"],
    q: Float[Tensor, "words d_k"],
    k: Float[Tensor, "words d_k"],
    v: Float[Tensor, "words d_v"],
    *,
    asking: int,
    caption: str = "",
) -> Film:
    """Draw how one word attends: its query meets all keys, softmax shares 1 out, values are mixed.

    The scores are divided by √d_k, and the weights computed, here.

    Args:
        words: at most five, each of a few letters.
        x: the vectors that come in; q, k and v are made of them.
        q: queries.
        k: keys.
        v: values.
        asking: the index of the word whose query is drawn.
        caption: one sentence below.

    Raises:
        ValueError: more words than there is room for, or vectors that do not belong to them.
    """
    n = len(words)
    if not 1 <= n <= MOST_WORDS or {len(each) for each in (x, q, k, v)} != {n}:
        raise ValueError(
            f"expected at most {MOST_WORDS} words and as many rows of x, q, k and v, got {n} words "
            f"and {[len(each) for each in (x, q, k, v)]} rows"
        )
    d_k = k.shape[1]
    scores = q[asking] @ k.T
    scaled = scores / math.sqrt(d_k)
    weights = torch.softmax(scaled, dim=-1)
    context = weights @ v
    rows = [FIRST + ROW * i for i in range(n)]
    root = f"÷√{d_k}"
    tokens = "".join(
        token((2, y - 13), word, language="english", width=62, strong=i == asking)
        for i, (word, y) in enumerate(zip(words, rows, strict=True))
    )

    def panel(number: int, description: str, *parts: str) -> Panel:
        return Panel(
            title=TITLES[number],
            description=description,
            body=step_dots(number, len(TITLES)) + tokens + "".join(parts),
            height=FIRST + ROW * n - 16,
        )

    def name(x: float, words: str) -> str:
        return label((x, 46), words, cls="math")

    largest = float(max(each.abs().max() for each in (x, q, k)))
    most = float(v.abs().max())
    small = 14.0
    ask = [name(98, "x"), name(178, "q"), name(248, "k"), name(305, "v")]
    for i, y in enumerate(rows):
        query = vector((150, y - 7), q[i].tolist(), largest=largest, cell=small)
        ask += [
            vector((70, y - 7), x[i].tolist(), largest=largest, cell=small),
            arrow((130, y), (145, y)),
            query if i == asking else group(query, cls="muted"),
            vector((220, y - 7), k[i].tolist(), largest=largest, cell=small),
            vector((291, y - 7), v[i].tolist(), largest=most, cell=small),
        ]
    compare = [label((60, 46), "q", cls="math", anchor="end"), name(206, "q·k"), name(284, root)]
    compare.append(vector((72, 35), q[asking].tolist(), largest=largest, cell=22, digits=0))
    share = [name(84, root), label((112, 46), "weight", cls="aside", anchor="start")]
    mix = [name(92, "weight"), name(165, "v"), name(300, "context")]
    middle = (rows[0] + rows[-1]) / 2
    for i, y in enumerate(rows):
        weight = float(weights[i])
        cls = "bold" if weight == float(weights.max()) else None
        compare += [
            vector((72, y - 11), k[i].tolist(), largest=largest, cell=22, digits=0),
            label((206, y), signed(float(scores[i])), cls="bold"),
            arrow((228, y), (262, y)),
            label((284, y), signed(float(scaled[i]), 0 if _whole(scaled) else 1), cls="bold"),
        ]
        share += [
            label((84, y), signed(float(scaled[i]), 0 if _whole(scaled) else 1)),
            element("rect", x=112, y=float(y - 11), width=180, height=22, rx=3, fill=ink("fill")),
            element(
                "rect",
                x=112,
                y=float(y - 11),
                width=180 * weight,
                height=22,
                rx=3,
                fill=ink("attention"),
                cls="cell",
            ),
            label((334, y), f"{weight:.2f}", cls=cls, anchor="end"),
        ]
        mix += [
            label((92, y), f"{weight:.2f}", cls=cls),
            flow(
                (138 + 26 * v.shape[1] + 8, y),
                (266, middle + (i - (n - 1) / 2) * 10),
                width=20 * weight,
                colour="attention",
            ),
            vector((138, y - 12), v[i].tolist(), largest=most, cell=26, digits=0),
        ]
    mix.append(vector((268, middle - 17), context.tolist(), largest=most, cell=34, digits=1))
    asked = words[asking]
    told = ", ".join(
        f"{word} {float(weight):.2f}" for word, weight in zip(words, weights, strict=True)
    )
    frames = [
        panel(0, f"For each of {', '.join(words)}: x, and from it q, k and v.", *ask),
        panel(
            1,
            f"The query of {asked} above the keys. Scores "
            f"{', '.join(signed(s) for s in scores.tolist())}; divided by the root of {d_k}: "
            f"{', '.join(signed(s, 2) for s in scaled.tolist())}.",
            *compare,
        ),
        panel(2, f"Bars of the weights: {told}.", *share),
        panel(
            3,
            "The values flow, as wide as their weights, into the context "
            f"{', '.join(signed(c, 2) for c in context.tolist())}.",
            *mix,
        ),
    ]
    most_attended = words[int(weights.argmax())]
    says = (
        "1. From each word's vector x, three matrices make a query, a key and a value.",
        f"2. The query of “{asked}” meets every key: the dot product is large where the two agree.",
        "3. Softmax turns the scaled scores into shares of 1.",
        f"4. The shares mix the values into the context of “{asked}”, most of it from "
        f"“{most_attended}”.",
    )
    return Film(
        [Frame([each], told) for each, told in zip(frames, says, strict=True)],
        seconds=2.6,
        name="frame",
        caption=caption,
        together=True,
    )


def _whole(values: Tensor) -> bool:
    """Whether all of them are whole numbers."""
    return bool(torch.equal(values, values.round()))
