"""What the first page shows of the course, made while it is built: nothing on it is a mock-up."""

from __future__ import annotations

import html
import inspect
import os
import re
from collections.abc import Callable
from functools import cache
from unittest.mock import patch

import torch
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from torch import Tensor

from course_lib.checks import check
from course_lib.data import BOS
from course_lib.decoding import Translator
from course_lib.viz.diagram.model_diagram import model_diagram
from course_lib.viz.drawings.words.next_word import draw_next_word
from tools.notebooks.course_map import LessonRow, lesson_rows, read_map

READ, WRITTEN = "Die Katze schläft, weil sie müde ist.", "The cat is sleeping because"
EXAMPLE = "Der Hund schläft im Garten, weil er müde ist."

Address = Callable[[str], str]  # where a link to a page of the project leads


def padding_mask(tokens: Tensor, pad_id: int) -> Tensor:  # noqa: D103 (a learner's)
    return (tokens != pad_id)[:, None, :, None]


def answer() -> str:
    """The code of a typical wrong answer, `padding_mask`."""
    code = re.sub(r": (Tensor|int)\b| -> Tensor|  #.*", "", inspect.getsource(padding_mask))
    lines = highlight(code, PythonLexer(), HtmlFormatter(nowrap=True))
    return f'<div class="highlight"><pre>{lines}</pre></div>'


def report() -> str:
    """What the check says of it."""
    with patch.dict(os.environ, COURSE_QUIET="1"):  # no learner is here
        return check("06.padding_mask", padding_mask)._repr_html_()


def next_word(translator: Translator) -> str:
    """A film of how the word after `WRITTEN` is sampled, by the model's own logits."""
    translation, _ = translator.attend(READ)
    step = len(WRITTEN.split())
    vocabulary = translator.target_vocabulary
    assert vocabulary.join(translation.target[:step]) == WRITTEN
    source, target = (
        torch.tensor([tokenizer.encode(tokens)])
        for tokenizer, tokens in (
            (translator.source_vocabulary, translation.source),
            (vocabulary, [BOS, *translation.target[:step]]),
        )
    )
    with torch.inference_mode():
        logits = translator.model.eval()(source, target)[0, -1].clone()
    film = draw_next_word(
        [vocabulary.join([token]).strip() for token in vocabulary.tokens],
        logits,
        drawn=int(logits.argmax()),
        top_p=0.9,
        shown=2,
    )
    film.start = 1  # the probabilities
    return film.to_html()


def diagram(translator: Translator, address: Address) -> str:
    """The live diagram of the model; each part leads to its lesson."""
    text = model_diagram(translator, EXAMPLE, languages=("German", "English")).to_html()
    return re.sub(
        r'href="(\d\d_\w+)\.ipynb"',
        lambda found: f'href="{address(f"notebooks/{found[1]}")}"',
        text,
    )


@cache
def lesson_lines() -> list[LessonRow]:
    """The map's row of each lesson, read once for all pages."""
    return lesson_rows(read_map())


def lessons(address: Address) -> str:
    """A line for each lesson."""
    return "\n".join(
        f'<li><span class="soft">{row.number}</span> <a href="{address(row.page)}">{row.title}</a> '
        f"<span>{html.escape(row.line)}</span></li>"
        for row in lesson_lines()
    )
