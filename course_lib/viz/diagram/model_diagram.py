"""The whole model as one diagram: a sentence goes through it, step by step, to the next word."""

from __future__ import annotations

import html
import math
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from course_lib.errors import CourseError
from course_lib.model import AttentionRecord, Transformer, TransformerConfig
from course_lib.modern import PrefixConfig
from course_lib.viz.diagram.model_diagram_geometry import (
    N_BARS,
    NARROW,
    ONE_STACK_NARROW,
    ONE_STACK_WIDE,
    WIDE,
)
from course_lib.viz.diagram.model_diagram_layout import layout_of
from course_lib.viz.diagram.model_diagram_parts import parts_of
from course_lib.viz.diagram.model_diagram_picture import ASSETS, CONSTANTS, attended, picture
from course_lib.viz.diagram.one_stack_parts import one_stack_parts
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
    source token. In a model of one stack it is self-attention, with a weight for each token so far.
    """

    top: tuple[tuple[str, float], ...]
    attention: tuple[float, ...]


class ModelDiagram:
    """A diagram of a model that translates one sentence. Made by `model_diagram`.

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
        config: TransformerConfig | PrefixConfig = model.config
        self.one_stack = isinstance(config, PrefixConfig)
        if isinstance(config, PrefixConfig):
            self.parts = one_stack_parts(config, languages)
        else:
            self.parts = parts_of(config, languages)
        sizes = (ONE_STACK_WIDE, ONE_STACK_NARROW) if self.one_stack else (WIDE, NARROW)
        self.layouts = {
            name: layout_of(model.config, source, target, sizes=each)
            for name, each in zip(("wide", "narrow"), sizes, strict=True)
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
        module = bundle("one_stack_diagram" if self.one_stack else "model_diagram")
        code = {"module": module, "style": stylesheet(), "diagram": self._data()}
        return live_fragment(static, code)

    def save_html(self, path: str | Path) -> None:
        """Write the diagram to one file that needs neither a network nor a second file."""
        Path(path).write_text(page(self.to_html(), title=TITLE), "utf-8")

    @cached_property
    def _png(self) -> bytes:
        before, step = self.target[: self.shown + 1], self.steps[self.shown]
        written = f"“{' '.join(before[1:])}”" if self.shown else "nothing yet"
        who, attention = ("stack", "self") if self.one_stack else ("decoder", "cross")
        heading = (
            f"{TITLE}, step {self.shown + 1} of {len(self.steps)}\n"
            f"The {who} has written {written} and predicts the next word. "
            f"For it, the last layer's {attention}-attention attends to “{self._attended[0]}” "
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
    def _attended(self) -> tuple[str, float]:
        """The token that is attended to most, and its weight."""
        step = self.steps[self.shown]
        tokens = attended(self.source, self.target, step)
        return max(zip(tokens, step.attention, strict=True), key=itemgetter(1))

    def __repr__(self) -> str:
        step, before = self.steps[self.shown], " ".join(self.target[: self.shown + 1])
        written = " ".join(each.top[0][0] for each in self.steps)
        least = math.floor(100 * min(each.top[0][1] for each in self.steps)) / 100
        source, (most, weight) = " ".join(self.source), self._attended
        reads = f"the encoder reads “{source}”, the decoder reads “{before}”"
        if self.one_stack:
            reads = f"one stack reads “{source} {before}”"
        return (
            f"Diagram of the model in {len(self.parts)} parts: {reads} and predicts "
            f"“{step.top[0][0]}”, for which {'self' if self.one_stack else 'cross'}-attention "
            f"attends to “{most}” most ({weight:.2f}).\n"
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
        translator: a `course_lib.decoding.Translator`, of an encoder-decoder or of one stack.
        text: a sentence that it can read, in which the diagram shows each step of greedy decoding.
        step: the step that is shown first, counted from 0, or the nearest one that there is.
        languages: of source and target, such as ("German", "English"); without them, the parts
            are called after source and target.

    Raises:
        CourseError: the sentence cannot be translated, or it or its translation is too long for a
            picture; or this is no translator.
    """
    if not isinstance(translator, Translates):
        raise CourseError(
            f"expected a Translator, which knows the words, got {type(translator).__name__}: a "
            "model goes into Translator(model, …), and a decoder-only one as a PrefixTransformer"
        )
    translation, attention = translator.attend(text)
    longest = max(len(translation.source), len(translation.target))
    if longest > MAX_TOKENS:
        raise CourseError(
            f"the diagram has room for {MAX_TOKENS} tokens on each side, got {longest}: "
            "take a shorter sentence"
        )
    probabilities = translator.next_token_probabilities(translation)
    tokens = translator.target_vocabulary.tokens
    one_stack = isinstance(translator.model.config, PrefixConfig)
    n_source = len(translation.source)
    of_target = attention.decoder[..., n_source:, :] if one_stack else attention.cross
    steps = []
    attended_to = zip(probabilities, of_target[-1, 0].mean(dim=0), strict=True)
    for seen, (row, weights) in enumerate(attended_to, n_source + 1):
        best = row.topk(min(N_BARS, len(row)))
        words = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        top = tuple((tokens[i], round(value, 3)) for i, value in words)
        steps.append(Step(top, tuple(round(weight, 2) for weight in weights[:seen].tolist())))
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
