"""A film of learning: what one model writes at several steps of a run, and where it looks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape
from itertools import groupby
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.viz.drawings.attention.attention_columns import attention_columns
from course_lib.viz.drawings.drawing import WIDTH, Film, Frame, Panel
from course_lib.viz.drawings.marks import LINE, element, label, text_width

LEARNING = Path(__file__).parents[3] / "assets" / "learning.json"
FIRST, GAP = 36, 16  # the first source sentence's middle, and the space between two pairs
MOST_LINES, TALLEST = 2, 440
MISSING = "\u00a0" * 4  # what is underlined where a word is missing
_NO_BLANK_BEFORE = frozenset(".,?!")
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
    start: int = -1,
    caption: str = "",
) -> Film:
    """Draw a run's snapshots: the translations on the left, one attention matrix on the right.

    Words that are not in the reference, or not in its order, are underlined with a wavy line, and
    so is the gap where one is missing. What takes more than two lines ends in "…".

    Args:
        sources: the words of each German sentence; four or five.
        references: the words of its English translation.
        snapshots: of one run, in order; at least two.
        start: the index of the snapshot that is shown first.
        caption: one sentence that a person would say.

    Raises:
        ValueError: snapshots that are not in order, or not of these sentences; more or longer
            sentences than there is room for.
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
        if text_width(_joined(source), 12) > WIDTH:
            raise ValueError(f"a sentence has no room in {WIDTH} pixels: {_joined(source)!r}")
    marked = [
        [mark_words(*pair) for pair in zip(each.translations, references, strict=True)]
        for each in snapshots
    ]
    laid = [[_lines(words) for words in each] for each in marked]
    # Each sentence stands at the same height in all frames.
    most_lines = [max(map(len, sentence)) for sentence in zip(*laid, strict=True)]
    if FIRST + sum(2 + LINE * (1 + n) + GAP for n in most_lines) > TALLEST:
        raise ValueError(f"{len(sources)} sentences have no room below each other: draw fewer")
    frames = []
    for snapshot, lines, words in zip(snapshots, laid, marked, strict=True):
        sure = float(snapshot.weights.amax(-1).mean())
        written = _written(snapshot.step, sources, lines, words, most_lines)
        looks = attention_columns(
            "Where each English word looks",
            snapshot.weights,
            queries=references[-1],
            keys=sources[-1],
            languages=("english", "german"),
            headings=("writes", "reads"),
        )
        says = (
            f"After {_steps(snapshot.step)}, a word's widest line has {sure:.2f} of its attention "
            "on average."
        )
        frames.append(Frame([written, looks], says))
    return Film(frames, start=start, seconds=1.8, name="training step", caption=caption)


def mark_words(words: Sequence[str], reference: Sequence[str]) -> list[Marked]:
    """Each word with whether it is right: in the longest parts that are also in the reference.

    A gap stands, as wrong, where a word of the reference is missing and no other stands for it.
    """
    match = SequenceMatcher(a=reference, b=words, autojunk=False)
    marked: list[Marked] = []
    for kind, _, _, start, end in match.get_opcodes():
        if kind == "delete":
            marked.append((MISSING, False))
        else:
            marked += [(word, kind == "equal") for word in words[start:end]]
    return marked


def _written(
    step: int,
    sources: Sequence[Sequence[str]],
    lines: Sequence[Sequence[Sequence[Marked]]],
    words: Sequence[Sequence[Marked]],
    most_lines: Sequence[int],
) -> Panel:
    """The sentences, each below its source."""
    y, parts = float(FIRST), []
    for source, its_lines, n in zip(sources, lines, most_lines, strict=True):
        parts.append(label((0, y), _joined(source), cls="aside", anchor="start", colour="german"))
        for i, line in enumerate(its_lines):
            parts.append(element("text", _spans(line), x=0, y=y + 20 + LINE * i + 4.6))
        y += 2 + LINE * (1 + n) + GAP
    told = []
    for source, its_words in zip(sources, words, strict=True):
        wrong = [word.strip() or "a gap" for word, right in its_words if not right]
        told.append(
            f"{_joined(source)} – {_joined([word for word, _ in its_words if word.strip()])} "
            f"(wrong: {', '.join(wrong) or 'nothing'})"
        )
    return Panel(
        title=f"Written after {_steps(step)}",
        description=" ".join(told),
        body="".join(parts),
        height=y - GAP,
    )


def _lines(words: Sequence[Marked]) -> list[list[Marked]]:
    """The words in at most two lines of the panel's width."""
    units: list[list[Marked]] = []  # a word, and what may not begin a line
    for word in words:
        if units and word[0] in _NO_BLANK_BEFORE:
            units[-1].append(word)
        else:
            units.append([word])
    lines: list[list[Marked]] = [[]]
    for unit in units:
        longer = [*lines[-1], *unit]
        # Room for the "…" stays free in the last line.
        room = WIDTH - (18 if len(lines) == MOST_LINES else 0)
        if text_width(_joined([each for each, _ in longer])) <= room:
            lines[-1] = longer
        elif len(lines) == MOST_LINES:
            lines[-1].append(("…", True))
            break
        else:
            lines.append(unit)
    return lines


def _spans(line: Sequence[Marked]) -> str:
    """SVG of a line of words, one wavy line under neighbours that are wrong."""
    graphics: list[str] = []
    for right, run in groupby(line, key=lambda each: each[1]):
        words = [word for word, _ in run]
        text = escape(_joined(words))
        blank = " " if graphics and words[0] not in _NO_BLANK_BEFORE else ""
        graphics.append(blank + (text if right else element("tspan", text, cls="incorrect")))
    return "".join(graphics)


def _joined(words: Sequence[str]) -> str:
    """Words as a sentence: no blank before a full stop or comma."""
    return "".join(
        word if i == 0 or word in _NO_BLANK_BEFORE else f" {word}" for i, word in enumerate(words)
    )


def _steps(step: int) -> str:
    return f"{step:,} step" if step == 1 else f"{step:,} steps"
