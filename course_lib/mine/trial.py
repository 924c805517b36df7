"""Try each of your parts inside a Transformer: equal to the course's, and about as fast?

A part may pass its check and still be wrong or slow in a model: it keeps something from one batch
to the next, or takes a loop where the course's takes one product. So each is put alone into the
course's Transformer, on the course's weights; what trains, translates or reads it is put alone
among the course's parts.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_lib.checks.engine.call import describe_exception
from course_lib.checks.engine.compare import first_difference
from course_lib.checks.engine.time_limit import PROCESSOR_TIME, TookTooLong, within
from course_lib.data import Batch, teacher_forcing
from course_lib.mine.join import own_transformer
from course_lib.mine.library import Library
from course_lib.mine.parts import PARTS, using
from course_lib.mine.uses import USES
from course_lib.model import Transformer, TransformerConfig, preset
from course_lib.training import RECIPES

TOLERANCE = 1e-4
SLOW = 3.0  # times the course's step
SECONDS = 60.0  # for one part
# Of batches: sentences, source and target tokens. The last two tell a part that remembers a size.
SIZES = ((3, 7, 6), (2, 5, 9), (64, 12, 12), (64, 12, 12))


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What is wrong with a part inside the model: a sentence, and the call that shows it."""

    sentence: str
    call: str = ""
    slow: float = 0.0  # times the course's


def try_parts(library: Library) -> Iterator[tuple[str, Finding | None]]:
    """Each own part, with what is wrong with it."""
    for part in PARTS.values():
        if library.is_own(part.name):
            yield part.name, try_part(library.with_own([part.name]), part.step)


def try_part(library: Library, step: str = "model") -> Finding | None:
    """What is wrong with the library's own parts in a step: in a model, or in what is done with
    one.
    """
    where = "inside a Transformer it {}" if step == "model" else f"in {step} it {{}}"
    try:
        if step == "model":
            return within(SECONDS, lambda: _try(library), PROCESSOR_TIME)
        return within(SECONDS, lambda: _try_use(library, step), PROCESSOR_TIME)
    except TookTooLong as error:
        return Finding(
            sentence=where.format(f"takes more than {SECONDS:g} seconds of processor ")
            + "time for a few batches, which is too slow to train with: is there a loop over "
            "sentences, heads or tokens that one product could replace?",
            call=describe_exception(error).line,
            slow=math.inf,
        )
    except Exception as error:  # whatever the learner's code raises
        failure = describe_exception(error)
        return Finding(
            sentence=where.format(f"raises {failure.kind}: {failure.message}"),
            call=failure.line,
        )


def _try(library: Library) -> Finding | None:
    config = preset("small", **RECIPES["mine"].model, source_vocab=40, target_vocab=50, max_len=64)
    torch.manual_seed(0)
    course = Transformer(config)
    own = own_transformer(config, library)
    own.load_state_dict(course.state_dict(), strict=False)
    own.train()
    course.train()
    seconds: dict[str, list[float]] = {"own": [], "course": []}
    for number, (sentences, source, target) in enumerate(SIZES):
        batch = _batch(config, sentences, source, target, seed=number)
        kept = batch.source.clone(), batch.target.clone()
        with using(library):
            mine = _gradients(own, batch)
        if not (torch.equal(kept[0], batch.source) and torch.equal(kept[1], batch.target)):
            return Finding(sentence="it changes the tokens that it is given, in place")
        theirs = _gradients(course, batch)
        shown = (
            f"batch {number + 1} of {len(SIZES)}: {sentences} sentences of up to {source} source "
            f"and {target} target tokens, padded"
        )
        for which, a, b in zip(("logits", "gradients"), mine, theirs, strict=True):
            difference = float((a - b).abs().max() / b.abs().max().clamp(min=1e-6))
            if not difference <= TOLERANCE:
                return Finding(
                    sentence=f"on the course's weights, the {which} differ from the course's by "
                    f"up to {difference:.1%} of the largest",
                    call=shown,
                )
    batch = _batch(config, *SIZES[-1], seed=9)
    if _random_number_after(own, batch, library, seed=1) == _random_number_after(
        own, batch, library, seed=2
    ):
        return Finding(
            sentence="it sets the seed of PyTorch's random numbers, so that dropout and all else "
            "that is random come out the same each time: draw no seed inside a part",
        )
    for _ in range(3):
        for which, model in (("own", own), ("course", course)):
            start = time.process_time()
            with using(library):
                _gradients(model, batch)
            seconds[which].append(time.process_time() - start)
    ratio = statistics.median(seconds["own"]) / statistics.median(seconds["course"])
    if ratio > SLOW:
        return Finding(
            sentence=f"it is right, and with it a training step takes {ratio:.0f} times as long: "
            "is there a loop over sentences, heads or tokens that one product could replace?",
            call=f"a step on {SIZES[-1][0]} sentences: "
            f"{1000 * statistics.median(seconds['own']):.0f} ms of processor time",
            slow=ratio,
        )
    return None


def _random_number_after(own: nn.Module, batch: Batch, library: Library, *, seed: int) -> float:
    """The first random number after a use of the model."""
    torch.manual_seed(seed)
    with using(library):
        _gradients(own, batch)
    return float(torch.rand(()))


def _try_use(library: Library, step: str) -> Finding | None:
    """Do twice with the library's parts what the course's do once."""
    course = dict(enumerate(USES[step](Library({}, ()))))
    for again in ("", ", done a second time,"):
        for number, (what, got) in enumerate(USES[step](library)):
            expected = course[number][1]
            if (difference := first_difference(expected, got, tolerance=TOLERANCE)) is not None:
                return Finding(
                    sentence=f"in {step}, {what}{again} should be as with the course's parts: "
                    f"{difference}"
                )
    return None


def _batch(
    config: TransformerConfig, sentences: int, source: int, target: int, *, seed: int
) -> Batch:
    generator = torch.Generator().manual_seed(seed)

    def tokens(length: int, vocab: int) -> Tensor:
        ids = torch.randint(3, vocab, (sentences, length), generator=generator)
        ends = torch.randint(2, length + 1, (sentences, 1), generator=generator)
        ends[0] = length
        return ids.masked_fill(torch.arange(length) >= ends, config.pad_id)

    return Batch(tokens(source, config.source_vocab), tokens(target, config.target_vocab))


def _gradients(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """The logits of a batch's real tokens, and all gradients of their mean square as one vector.

    What a part gives for padding is its own affair: nothing reads it.
    """
    decoder_input, labels = teacher_forcing(batch.target, 0)
    model.zero_grad()
    logits: Tensor = model(batch.source, decoder_input)[labels != 0]
    logits.square().mean().backward()
    gradients = [
        p.grad.flatten() for _, p in sorted(model.named_parameters()) if p.grad is not None
    ]
    return logits.detach(), torch.cat(gradients)
