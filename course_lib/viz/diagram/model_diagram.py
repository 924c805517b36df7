"""The whole model as one diagram: a sentence goes through it, step by step, to the next word."""

from __future__ import annotations

import html
import math
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from course_lib.errors import CourseError
from course_lib.model import AttentionRecord, Transformer
from course_lib.viz.diagram.model_diagram_geometry import N_BARS, NARROW, WIDE
from course_lib.viz.diagram.model_diagram_layout import layout_of
from course_lib.viz.diagram.model_diagram_parts import parts_of
from course_lib.viz.diagram.model_diagram_picture import ASSETS, CONSTANTS, picture
from course_lib.viz.figure_html import picture_tag
from course_lib.viz.web.bundles import bundle
from course_lib.viz.web.live_html import live_fragment, page

MAX_TOKENS = 20  # of a sentence or its translation: more do not fit on a phone
BEGIN = "<bos>"  # what the decoder reads first
START = 3  # the step that is shown first: by then, some words are written
TITLE = "The Transformer at work"
STILL = (
    "<p>This is a still picture of one step, with a link for each part. To go from step to step, "
    "run this cell; on a page, allow scripts.</p>"
)
LEGEND = "On the arrows: the shapes of the tensors, (sentences, words, numbers per word)."


@runtime_checkable
class Translates(Protocol):
    """What the diagram needs of a `course_lib.decoding.Translator`."""

    model: Transformer

    @property
    def target_vocabulary(self) -> Any:
        """Its ``tokens`` are those that the model generates, by id."""
        ...

    def attend(self, text: str) -> tuple[Any, AttentionRecord]:
        """The translation, with tokens ``source`` and ``target``, and its attention."""
        ...

    def next_token_probabilities(self, translation: Any) -> Tensor:
        """What the model predicts at each step: (steps, vocab)."""
        ...


@dataclass(frozen=True)
class Step:
    """One step of decoding: the most probable tokens, best first, and the attention.

    ``attention`` is the last layer's cross-attention, the mean of its heads: a weight for each
    source token.
    """

    top: tuple[tuple[str, float], ...]
    attention: tuple[float, ...]


class ModelDiagram:
    """A diagram of a Transformer that translates one sentence. Made by `model_diagram`.

    Where no script runs it is a picture of one step and a list of the parts, each with a link to
    its lesson.
    """

    def __init__(
        self,
        model: Transformer,
        source: list[str],
        target: list[str],
        steps: tuple[Step, ...],
        *,
        shown: int,
        languages: tuple[str, str] | None = None,
    ) -> None:
        self.source, self.target, self.steps, self.shown = source, target, steps, shown
        self.parts = parts_of(model.config, languages)
        self.layouts = {
            name: layout_of(model.config, source, target, sizes=sizes)
            for name, sizes in (("wide", WIDE), ("narrow", NARROW))
        }

    def to_png(self) -> bytes:
        """The picture."""
        return self._png

    def to_html(self) -> str:
        """A picture and a list that become the live diagram where scripts run."""
        items = "".join(
            f'<li data-part="{part.id}"><a href="{html.escape(part.link)}">{html.escape(part.name)}'
            f"</a>: {html.escape(part.text)}</li>"
            for part in self.parts
        )
        static = f"{picture_tag(self._png, repr(self))}{STILL}<ul>{items}</ul>"
        code = {"module": bundle("model_diagram"), "style": stylesheet(), "diagram": self._data()}
        return live_fragment(static, code)

    def save_html(self, path: str | Path) -> None:
        """Write the diagram to one file that needs neither a network nor a second file."""
        Path(path).write_text(page(self.to_html(), title=TITLE), "utf-8")

    @cached_property
    def _png(self) -> bytes:
        before, step = self.target[: self.shown + 1], self.steps[self.shown]
        written = f"“{' '.join(before[1:])}”" if self.shown else "nothing yet"
        heading = (
            f"{TITLE}, step {self.shown + 1} of {len(self.steps)}\n"
            f"The decoder has written {written} and predicts the next word. "
            f"For it, the last layer's cross-attention attends to “{self.source[self._attended]}” "
            f"most.\n{LEGEND} The number on a part is its lesson."
        )
        layout = self.layouts["wide"]
        return picture(layout, self.parts, self.source, before, step, heading=heading)

    def _data(self) -> dict[str, Any]:
        return {
            "title": TITLE,
            "legend": LEGEND,
            "source": self.source,
            "target": self.target,
            "shown": self.shown,
            "steps": [asdict(step) for step in self.steps],
            "parts": [asdict(part) | {"stack": part.stack} for part in self.parts],
            "layouts": {name: asdict(layout) for name, layout in self.layouts.items()},
        }

    @property
    def _attended(self) -> int:
        weights = self.steps[self.shown].attention
        return max(range(len(weights)), key=weights.__getitem__)

    def __repr__(self) -> str:
        step, before = self.steps[self.shown], " ".join(self.target[: self.shown + 1])
        written = " ".join(each.top[0][0] for each in self.steps)
        least = math.floor(100 * min(each.top[0][1] for each in self.steps)) / 100
        most = self._attended
        return (
            f"Diagram of the model in {len(self.parts)} parts: the encoder reads "
            f"“{' '.join(self.source)}”, the decoder reads “{before}” and predicts "
            f"“{step.top[0][0]}”, for which cross-attention attends to “{self.source[most]}” most "
            f"({step.attention[most]:.2f}).\n"
            f"In {len(self.steps)} steps it writes “{written}”, each word with a probability of at "
            f"least {least:.2f}."
        )

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {"text/html": self.to_html(), "text/plain": repr(self)}


def model_diagram(
    translator: Translates,
    text: str,
    *,
    step: int = START,
    languages: tuple[str, str] | None = None,
) -> ModelDiagram:
    """The whole model as one diagram, at work on a sentence: ``model_diagram(translator, "…")``.

    Args:
        translator: a `course_lib.decoding.Translator`.
        text: a sentence that it can read, in which the diagram shows each step of greedy decoding.
        step: the step that is shown first, counted from 0, or the nearest one that there is.
        languages: of source and target, such as ("German", "English"); without them, the parts
            are called after source and target.

    Raises:
        CourseError: the sentence cannot be translated, or it or its translation is too long for a
            picture.
    """
    translation, attention = translator.attend(text)
    longest = max(len(translation.source), len(translation.target))
    if longest > MAX_TOKENS:
        raise CourseError(
            f"the diagram has room for {MAX_TOKENS} tokens on each side, got {longest}: "
            "take a shorter sentence"
        )
    probabilities = translator.next_token_probabilities(translation)
    tokens = translator.target_vocabulary.tokens
    cross = attention.cross[-1, 0].mean(dim=0)
    steps = []
    for row, weights in zip(probabilities, cross, strict=True):
        best = row.topk(min(N_BARS, len(row)))
        pairs = zip(best.values.tolist(), best.indices.tolist(), strict=True)
        top = tuple((tokens[i], round(value, 3)) for value, i in pairs)
        steps.append(Step(top, tuple(round(weight, 2) for weight in weights.tolist())))
    return ModelDiagram(
        translator.model,
        list(translation.source),
        [BEGIN, *translation.target],
        tuple(steps),
        shown=max(0, min(step, len(steps) - 1)),
        languages=languages,
    )


@cache
def stylesheet() -> str:
    """The colours of both themes as variables, then the diagram's CSS."""
    light, dark = (
        "".join(f"--{name}: {colour}; " for name, colour in CONSTANTS["themes"][theme].items())
        for theme in ("light", "dark")
    )
    # JupyterLab and nbconvert say which theme they show, as Colab and VS Code do; elsewhere the
    # system decides.
    dark_pages = ("body[data-jp-theme-light=false]", "html[theme=dark]", "body.vscode-dark")
    chosen = ", ".join(f"{selector} .md" for selector in dark_pages)
    css = (ASSETS / "diagram.css").read_text("utf-8")
    return (
        f".md {{ {light}color-scheme: light; }}\n{chosen} {{ {dark}color-scheme: dark; }}\n"
        "@media (prefers-color-scheme: dark) { body:not([data-jp-theme-light]) .md "
        f"{{ {dark}color-scheme: dark; }} }}\n{css}"
    )
