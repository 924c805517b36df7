"""A film of learning: what one model writes at several steps of a run, and where it looks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Buildup, Panel
from course_lib.viz.drawings.learning.attention_by_step import (
    STEPS_AT,
    attention_by_step,
    count_steps,
)
from course_lib.viz.drawings.marks import element, group, label, text_width

LEARNING = Path(__file__).parents[3] / "assets" / "learning.json"
FIRST, ROW, GAP = 56.0, 20.0, 18.0  # the first source's middle; between lines, between sentences
LEFT, TALLEST = 42.0, 420  # the left end of the sentences
MISSING = "\u00a0" * 4  # what is underlined where a word is missing
CHECK = "✓"
_NO_BLANK_BEFORE = frozenset(".,?!…")
# A word as the model wrote it, and whether it belongs to the reference.
Marked = tuple[str, bool]


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The model after some steps of its training.

    Args:
        step: how many updates it has had.
        translations: the words that it writes for each sentence.
        weights: attention of the last sentence, a row for each word of its reference, which the
            model is given, and a column for each source word.
    """

    step: int
    translations: Sequence[Sequence[str]]
    weights: Float[Tensor, "targets sources"]


def load_learning() -> tuple[list[list[str]], list[list[str]], list[Snapshot]]:
    """Sources, references and snapshots of the run that the course stores: of a translator like
    the training lesson's, for ``draw_learning``.
    """
    stored = json.loads(LEARNING.read_text("utf-8"))
    sources, references = (
        [text.split() for text in stored[name]] for name in ("sources", "references")
    )
    snapshots = [
        Snapshot(
            step=seen["step"],
            translations=[text.split() for text in seen["translations"]],
            weights=torch.tensor(seen["weights"]),
        )
        for seen in stored["snapshots"]
    ]
    return sources, references, snapshots


def draw_learning(
    sources: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    snapshots: Sequence[Snapshot],
    *,
    words: Sequence[str],
    caption: str = "",
) -> Buildup:
    """Draw a run's snapshots below each other: what was written, and where the model looked.

    Words that are not in the reference, or not in its order, are underlined with a wavy line, and
    so is the gap where one is missing. A line that is too long ends in "…".

    Args:
        sources: the words of each German sentence; two or three.
        references: the words of its English translation.
        snapshots: of one run, in order; at least two.
        words: of the last reference, for which it is shown where the model looks before it writes
            them; one or two.
        caption: one sentence that a person would say.

    Raises:
        ValueError: snapshots that are not in order, or not of these sentences; more or longer
            sentences than there is room for; a word that the last reference does not have.
    """
    steps = [each.step for each in snapshots]
    if len(steps) < 2 or sorted(set(steps)) != steps:
        raise ValueError(f"expected two snapshots or more, by rising steps, got steps {steps}")
    if not len(sources) or len(references) != len(sources):
        raise ValueError(
            f"expected a reference for each of {len(sources)} sentences, got {len(references)}"
        )
    for each in snapshots:
        if len(each.translations) != len(sources):
            raise ValueError(
                f"expected {len(sources)} translations at each step, got "
                f"{len(each.translations)} at step {each.step}"
            )
    for source in sources:
        if text_width(_joined(source), 12) > WIDTH - LEFT:
            raise ValueError(
                f"a sentence has no room in {WIDTH - LEFT:g} pixels: {_joined(source)!r}"
            )
    if not words or any(word not in references[-1] for word in words):
        raise ValueError(f"expected words of {_joined(references[-1])!r}, got {list(words)}")
    written = _written(steps, sources, references, [each.translations for each in snapshots])
    looks = attention_by_step(
        torch.stack([each.weights for each in snapshots]),
        steps=steps,
        sources=sources[-1],
        targets=references[-1],
        asked=[list(references[-1]).index(word) for word in words],
    )
    if max(written.height, looks.height) > TALLEST:
        raise ValueError(
            f"{len(sources)} sentences, or the words {', '.join(words)}, have no room at "
            f"{len(steps)} steps: draw fewer"
        )
    says = [_says(each, words, references[-1], sources[-1]) for each in snapshots]
    return Buildup(written, looks, says=says, seconds=1.8, name="training step", caption=caption)


def _says(
    snapshot: Snapshot, words: Sequence[str], reference: Sequence[str], source: Sequence[str]
) -> str:
    """Which source word has most of the attention."""
    most = []
    for word in words:
        row = snapshot.weights[list(reference).index(word)]
        most.append(f"for “{word}” at “{source[int(row.argmax())]}”, {100 * row.max():.0f} %")
    return f"After {count_steps(snapshot.step)}, it looks most: {'; '.join(most)}."


def mark_words(words: Sequence[str], reference: Sequence[str]) -> list[Marked]:
    """Each word with whether it is right: as many as possible that the reference has in this order.

    A gap stands, as wrong, where a word of the reference is missing and no other stands for it.
    """
    common = _common(words, reference)
    marked: list[Marked] = []
    i = j = 0
    for at, there in [*common, (len(words), len(reference))]:
        if i == at and j < there:
            marked.append((MISSING, False))
        marked += [(word, False) for word in words[i:at]]
        marked += [(word, True) for word in words[at : at + 1]]
        i, j = at + 1, there + 1
    return marked


def _common(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """The indices of the longest sequence of words that both have in the same order."""
    longest = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]  # of what is left of both
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            both = longest[i + 1][j + 1] + 1 if a[i] == b[j] else 0
            longest[i][j] = max(both, longest[i + 1][j], longest[i][j + 1])
    pairs, i, j = [], 0, 0
    while longest[i][j]:
        if longest[i + 1][j] == longest[i][j]:
            i += 1
        elif longest[i][j + 1] == longest[i][j]:
            j += 1
        else:
            pairs.append((i, j))
            i, j = i + 1, j + 1
    return pairs


def _written(
    steps: Sequence[int],
    sources: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    translations: Sequence[Sequence[Sequence[str]]],
) -> Panel:
    """Each sentence, and below it what was written for it, step by step."""
    y, parts, told = FIRST, [], []
    for k, (source, reference) in enumerate(zip(sources, references, strict=True)):
        parts.append(label((STEPS_AT, y), "steps", cls="aside", anchor="end"))
        joined = _joined(source)
        parts.append(label((LEFT, y), joined, cls="aside", anchor="start", colour="german"))
        told.append(f"{joined}:")
        for i, step in enumerate(steps):
            marked = mark_words(translations[i][k], reference)
            at = y + (i + 1) * ROW
            number = label((STEPS_AT, at), f"{step:,}", cls="aside", anchor="end")
            line = element("text", _spans(_fitted(marked)), x=LEFT, y=at + 4.6)
            parts.append(group(number, line, data_from=i))
            wrong = [word.strip() or "a gap" for word, right in marked if not right]
            told.append(
                f"after {count_steps(step)} {_joined(translations[i][k])} "
                f"(wrong: {', '.join(wrong) or 'nothing'})"
            )
        y += len(steps) * ROW + ROW + GAP
    return Panel(
        title="What it writes while it learns",
        note="a wavy line marks what is wrong",
        description=" ".join(told),
        body="".join(parts),
        height=y - GAP - 6,
    )


def _fitted(words: Sequence[Marked]) -> list[Marked]:
    """The words that have room in a line, with a check mark if all are right."""
    if all(right for _, right in words):
        return [*words, (CHECK, True)]
    room = WIDTH - LEFT
    if text_width(_joined([word for word, _ in words])) <= room:
        return list(words)
    shown: list[Marked] = []
    for word in words:
        longer = [*shown, word]
        if text_width(_joined([each for each, _ in longer])) > room - 18:
            break
        shown = longer
    return [*shown, ("…", True)]


def _spans(line: Sequence[Marked]) -> str:
    """SVG of a line of words, one wavy line under neighbours that are wrong."""
    graphics: list[str] = []
    for right, run in groupby(line, key=lambda each: each[1]):
        words = [word for word, _ in run]
        text = escape(_joined(words))
        blank = " " if graphics and words[0] not in _NO_BLANK_BEFORE else ""
        text = text.replace(CHECK, element("tspan", CHECK, style=f"fill:{ink('right')}"))
        graphics.append(blank + (text if right else element("tspan", text, cls="incorrect")))
    return "".join(graphics)


def _joined(words: Sequence[str]) -> str:
    """Words as a sentence: no blank before a full stop or comma."""
    return "".join(
        word if i == 0 or word in _NO_BLANK_BEFORE else f" {word}" for i, word in enumerate(words)
    )
