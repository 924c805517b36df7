"""What is done with a Transformer, with the parts of a library: three training steps, a search,
alignments. The same twice: a part may keep something from one time to the next.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import torch
from torch import Tensor

from course_lib.data import BOS, EOS, Batch, EncodedPair, Pair, load_corpus, pad_sequences
from course_lib.decoding import Translator
from course_lib.mine.library import Library
from course_lib.mine.parts import using
from course_lib.training import load_translator
from course_lib.training.evaluation import cross_weights
from course_lib.training.step import set_learning_rate

# What comes out, each with a name, in the order in which it is computed.
Use = Callable[[Library], Iterator[tuple[str, Any]]]
STEPS, WARMUP, MAX_LEN = 3, 400, 20


@cache
def _pretrained() -> Translator:
    return load_translator(model="small")


@cache
def _pairs() -> tuple[Pair, ...]:
    return tuple(load_corpus("grammar_de_en").pairs("valid", 24))


def training(library: Library) -> Iterator[tuple[str, Any]]:
    """Collate a batch, and take steps on it."""
    translator = _pretrained()
    ids = translator.target_vocabulary.ids
    encoded = [
        EncodedPair(
            translator.source_vocabulary.encode(pair.source),
            [ids[BOS], *translator.target_vocabulary.encode(pair.target), ids[EOS]],
        )
        for pair in _pairs()
    ]
    model = copy.deepcopy(translator.model).train()
    pad_id = model.config.pad_id
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    with using(library):
        batch = Batch(*library.part("collate")(encoded, pad_id))
        yield "the padded batch", [batch.source, batch.target]
        yield "the pairs after that", [(pair.source, pair.target) for pair in encoded]
        decoder_input, labels = library.part("teacher_forcing")(batch.target, pad_id)
        yield "the decoder's input and the labels", [decoder_input, labels]
        logits = model(batch.source, decoder_input)
        loss = library.part("masked_cross_entropy")(logits, labels, pad_id)
        yield "the loss", loss.detach()
        yield "its gradient", torch.autograd.grad(loss, logits)[0]
        rate = library.part("inverse_sqrt_lr")
        steps = range(1, 2 * WARMUP, 37)
        yield "the learning rates", torch.tensor([float(rate(s, 128, WARMUP)) for s in steps])
        step, losses = library.part("train_step"), []
        for number in range(1, STEPS + 1):
            set_learning_rate(optimizer, float(rate(number, 128, WARMUP)))
            losses.append(float(step(model, batch, optimizer, pad_id)))
        yield f"the losses of {STEPS} steps", torch.tensor(losses)
        yield (
            "the weights after them",
            torch.cat([p.detach().flatten() for p in model.parameters()]),
        )


def translating(library: Library) -> Iterator[tuple[str, Any]]:
    """Search greedily in a batch, and in a beam sentence by sentence."""
    translator = _pretrained()
    model, ids = translator.model.eval(), translator.target_vocabulary.ids
    bos, eos, pad_id = ids[BOS], ids[EOS], translator.model.config.pad_id
    sources = [translator.source_vocabulary.encode(pair.source) for pair in _pairs()]
    with using(library), torch.no_grad():
        for some in (sources[:6], sources[6:8], sources[8:9]):
            source = pad_sequences(some, pad_id)
            found = library.part("greedy_decode")(model, source, bos, eos, MAX_LEN)
            rows = [_before_the_end(row, eos, pad_id) for row in found]
            yield f"the greedy translations of {len(some)} sentences", rows
            yield "the source tokens after that", source
        for each in sources[:3]:
            search = library.part("beam_search")
            tokens, _ = search(model, torch.tensor([each]), bos, eos, 4, MAX_LEN, 0.6)
            yield "the best translation of a beam of 4", [int(token) for token in tokens]


def _before_the_end(row: Tensor, eos_id: int, pad_id: int) -> list[int]:
    tokens = [token for token in row.tolist() if token != pad_id]
    return tokens[: tokens.index(eos_id)] if eos_id in tokens else tokens


def reading(library: Library) -> Iterator[tuple[str, Any]]:
    """Align words by the attention of each head."""
    align = library.part("align")
    for pair in _pairs()[:4]:
        for layer in cross_weights(_pretrained(), pair):
            for head in layer:
                links = sorted((int(s), int(t)) for s, t in align(head))
                yield "the alignments of a head", links
                yield "its weights after that", head


USES: dict[str, Use] = {"training": training, "translating": translating, "reading": reading}
