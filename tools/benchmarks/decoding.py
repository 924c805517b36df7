"""Translation speed, in sentences per second."""

from collections.abc import Callable
from itertools import cycle

import torch
from torch import Tensor

from course_lib.data import pad_sequences
from course_lib.decoding import beam_search, evaluating, greedy_decode
from course_lib.model import KeyValueCache, Transformer
from tools.benchmarks.page import store
from tools.benchmarks.peers import BOS, EOS, PAD, VOCAB, bf16, our_config
from tools.benchmarks.rounds import median_and_range, ratios, table, take_rounds
from tools.benchmarks.sentences import sentence_pairs

LONGEST = 60
WIDTH = 4  # of the beams


class Ending(Transformer):
    """Untrained, but made to end each translation when it is as long as its source."""

    def decode(
        self, target: Tensor, memory: Tensor, source: Tensor, *, cache: KeyValueCache | None = None
    ) -> Tensor:
        """Logits, changed at the last position so that EOS is certain or impossible."""
        logits = super().decode(target, memory, source, cache=cache)
        seen = target if cache is None or cache.target is None else cache.target
        over = seen.size(1) >= (source != PAD).sum(dim=1)
        logits[:, -1, EOS] = torch.where(over, 1e4, -1e4).to(logits.dtype)
        return logits


def whole_model_each_token(model: Transformer, source: Tensor) -> Tensor:
    """Encoder and decoder again for each token, until every sentence of the batch has ended."""
    target = source.new_full((len(source), 1), BOS)
    with evaluating(model):
        while target.size(1) <= LONGEST and not (target == EOS).any(dim=1).all():
            last = model(source, target)[:, -1:].argmax(dim=-1)
            target = torch.cat((target, last), dim=1)
    return target[:, 1:]


def cached(model: Transformer, source: Tensor) -> Tensor:
    """The library's implementation."""
    return greedy_decode(model, source, BOS, EOS, LONGEST)


def beam_by_prefix(model: Transformer, source: Tensor) -> Tensor:
    """The whole decoder again for each token of one sentence's beams; the best one's tokens."""
    target = source.new_full((1, 1), BOS)  # (W, 1 + T)
    log_prob = torch.zeros(1)
    with evaluating(model):
        memory = model.encode(source)
        while target.size(1) <= LONGEST and not (target[:, -1] == EOS).all():
            beams = len(target)
            logits = model.decode(target, memory.expand(beams, -1, -1), source.expand(beams, -1))
            total = logits[:, -1].float().log_softmax(-1) + log_prob[:, None]  # (W, V)
            log_prob, best = total.flatten().topk(WIDTH)
            target = torch.cat((target[best // VOCAB], (best % VOCAB)[:, None]), dim=1)
    return target[:1, 1:]


def cached_beam(model: Transformer, source: Tensor) -> Tensor:
    """The library's implementation."""
    found = beam_search(model, source, BOS, EOS, LONGEST, width=WIDTH)
    return pad_sequences([best.tokens for (best,) in found], PAD)


def batches(sources: list[list[int]], size: int) -> list[Tensor]:
    """Batches of sentences of similar length, as the translator makes them."""
    ordered = sorted(sources, key=len)
    return [pad_sequences(ordered[i : i + size], PAD) for i in range(0, len(ordered), size)]


def measure_decoding(minutes: float) -> str:
    """Translate in rounds, greedily and with a beam; store both tables."""
    torch.manual_seed(0)
    model = Ending(our_config()).eval()
    sources = [pair.source for pair in sentence_pairs(512, seed=1)]

    def turn(
        decode: Callable[[Transformer, Tensor], Tensor], size: int, *, half: bool, share: int
    ) -> Callable[[], float]:
        # Each call translates one sentence in `share`, evenly over the lengths.
        todo = cycle([batches(sources[i::share], size) for i in range(share)])

        def take() -> float:
            some = next(todo)
            with bf16(half):
                for batch in some:
                    decode(model, batch)
            return float(sum(map(len, some)))

        return take

    greedy = {
        "whole model for each token, one sentence": turn(
            whole_model_each_token, 1, half=False, share=64
        ),
        "whole model for each token, 64 sentences": turn(
            whole_model_each_token, 64, half=False, share=4
        ),
        "cache, one sentence": turn(cached, 1, half=False, share=32),
        "cache, 64 sentences": turn(cached, 64, half=False, share=2),
        "cache, 128 sentences, bf16": turn(cached, 128, half=True, share=1),
    }
    beam = {
        "whole decoder for each token, one sentence": turn(beam_by_prefix, 1, half=False, share=64),
        "cache, 64 sentences": turn(cached_beam, 64, half=False, share=4),
        "cache, 128 sentences, bf16": turn(cached_beam, 128, half=True, share=2),
    }
    model_is = (
        "3 + 3 layers, d_model 256, vocabulary 8,000, untrained; each translation is made to end "
        "when it is as long as its source."
    )
    return "\n\n".join(
        (
            _measure(
                "Greedy decoding",
                f"{model_is} Targets: 24 × in fp32 and 45 × in bf16 against the first line, 6 × "
                "against the second.",
                greedy,
                minutes * 0.6,
            ),
            _measure(
                "Beam search",
                f"Width {WIDTH}, {model_is} Targets against the first line: 5 × in fp32, 11 × in "
                "bf16.",
                beam,
                minutes * 0.4,
            ),
        )
    )


def _measure(title: str, text: str, turns: dict[str, Callable[[], float]], minutes: float) -> str:
    """A table of sentences per second, and of the ratios to the first lines."""
    seconds = take_rounds(turns, minutes=minutes, name=title)
    slow = list(seconds)[: 2 if len(seconds) > 3 else 1]
    rows = [
        [who, median_and_range([1 / s for s in numbers], 1)]
        + [median_and_range(ratios(seconds, line, who), 1) for line in slow]
        for who, numbers in seconds.items()
    ]
    text += "\n\n" + table(
        ["", "sentences/s", *(f"× {line.rpartition(', ')[2]}" for line in slow)], rows
    )
    store(title, text, rounds=len(seconds[slow[0]]))
    return text
