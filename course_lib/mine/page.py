"""A page that translates with weights of your own, after a look at whether it will say the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from course_lib.data import BOS, EOS, Pair, load_corpus, pad_sequences
from course_lib.decoding import Translator, evaluating, greedy_decode
from course_lib.errors import CourseError
from course_lib.mine.join import own_transformer
from course_lib.mine.parts import PARTS, using
from course_lib.mine.stacks import takes_own_blocks
from course_lib.training import load_translator
from course_lib.viz.web.translator_page import translator_page

if TYPE_CHECKING:
    from course_lib.mine.library import Library

N_COMPARED = 20  # sentences
MAX_LEN = 40


def own_page(run: Path, library: Library) -> str:
    """The page of a run of ``course train mine``.

    Raises:
        CourseError: there is no run, or it is of another form, or a Transformer of the learner's
            parts with these weights translates otherwise than the page would.
    """
    if not run.exists():
        raise CourseError(
            f"expected a run of yours at {run}, found none: train one with `course train mine`, or "
            "name its folder with --run"
        )
    translator = load_translator(run)
    translator.model.half().float()  # the page stores 16 bits of each weight
    pairs = load_corpus("grammar_de_en").pairs("test", 300)
    compare_with_own(translator, pairs[:N_COMPARED], library)
    sentences = [(pair.source_text, pair.target_text) for pair in pairs]
    return translator_page(translator, "mine", sentences=sentences)


def compare_with_own(translator: Translator, pairs: Sequence[Pair], library: Library) -> None:
    """Translate with a Transformer of the learner's parts and with the course's, on these weights.

    Raises:
        CourseError: the parts can't compute this model, or a translation differs.
    """
    model, own = translator.model, own_model(translator, library)
    sources = [translator.source_vocabulary.encode(pair.source) for pair in pairs]
    source = pad_sequences(sources, model.config.pad_id)
    ids = translator.target_vocabulary.ids
    expected = greedy_decode(model, source, ids[BOS], ids[EOS], MAX_LEN)
    got = translate_with_own(own, source, ids[BOS], ids[EOS], library=library)
    different = [
        number
        for number, (a, b) in enumerate(zip(expected, got, strict=True))
        if _words(a, model.config.pad_id) != _words(b, model.config.pad_id)
    ]
    if different:
        first = pairs[different[0]]
        raise CourseError(
            f"expected the same translations from a Transformer of your parts and from the "
            f"course's, on the same weights; of {len(pairs)} sentences {len(different)} differ, "
            f"the first is “{first.source_text}”: `course mine` tries each part alone. If the run "
            "is still being trained, wait until it has ended"
        )


def own_model(translator: Translator, library: Library) -> nn.Module:
    """A Transformer of the learner's parts with a translator's weights.

    Raises:
        CourseError: the parts can't compute a model of this form.
    """
    config = translator.model.config
    if not takes_own_blocks(config) or config.tying != "none":
        raise CourseError(
            "expected a model of the form that your parts compute (post-norm, ReLU, untied tables, "
            "as the recipe `mine` has it), got another one: is the run of `course train mine`?"
        )
    own = own_transformer(config, library)
    own.load_state_dict(translator.model.state_dict(), strict=False)
    return own


def translate_with_own(
    own: nn.Module, source: Tensor, bos_id: int, eos_id: int, *, library: Library
) -> Tensor:
    """Greedy translations (B, T) by the learner's search, or without a cache by the course's."""
    search = library.part("greedy_decode") if library.is_own("greedy_decode") else _greedy
    with using(library), torch.no_grad(), evaluating(own):
        found: Tensor = search(own, source, bos_id, eos_id, MAX_LEN)
    return found


def _greedy(model: Any, source: Tensor, bos_id: int, eos_id: int, max_len: int) -> Tensor:
    """For a model whose attention has no cache."""
    generated = source.new_full((len(source), 1), bos_id)
    ended = torch.zeros(len(source), dtype=torch.bool)
    memory = model.encode(source)
    for _ in range(max_len):
        token = model.decode(generated, memory, source)[:, -1].argmax(dim=-1)
        token = token.masked_fill(ended, model.config.pad_id)
        generated = torch.cat((generated, token[:, None]), dim=1)
        ended |= token == eos_id
        if ended.all():
            break
    return generated[:, 1:]


def _words(row: Tensor, pad_id: int) -> list[int]:
    return [token for token in row.tolist() if token != pad_id]


def whose_parts(library: Library) -> str:
    """How many parts are whose, as a clause."""
    own = sum(library.is_own(name) for name in PARTS)
    return f"{own} of its {len(PARTS)} parts are yours"
