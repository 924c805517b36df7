"""Sentences a second in greedy translation."""

from collections.abc import Callable
from itertools import cycle

import torch
from torch import Tensor

from course_lib.data import pad_sequences
from course_lib.decoding import evaluating, greedy_decode
from course_lib.model import KeyValueCache, Transformer
from tests.bench.page import store
from tests.bench.peers import EOS, PAD, SOS, bf16, our_config
from tests.bench.rounds import ratios, spread, table, take_rounds
from tests.bench.sentences import sentence_pairs

LONGEST = 60


class Ending(Transformer):
    """Untrained, but each translation ends when it is as long as its source."""

    def decode(
        self, target: Tensor, memory: Tensor, source: Tensor, *, cache: KeyValueCache | None = None
    ) -> Tensor:
        logits = super().decode(target, memory, source, cache=cache)
        said = target.size(1) if cache is None else cache.target.size(1)
        over = said >= (source != PAD).sum(dim=1)
        logits[:, -1, EOS] = torch.where(over, 1e4, -1e4).to(logits.dtype)
        return logits


def whole_model_each_token(model: Transformer, source: Tensor) -> Tensor:
    """Encoder and decoder again for each token, until every sentence of the batch has ended."""
    target = source.new_full((len(source), 1), SOS)
    with evaluating(model):
        while target.size(1) <= LONGEST and not (target == EOS).any(dim=1).all():
            latest = model(source, target)[:, -1:].argmax(dim=-1)
            target = torch.cat((target, latest), dim=1)
    return target[:, 1:]


def cached(model: Transformer, source: Tensor) -> Tensor:
    """The library's way."""
    return greedy_decode(model, source, SOS, EOS, LONGEST)


def batches(sources: list[list[int]], size: int) -> list[Tensor]:
    """Sentences of like lengths together, as the translator does."""
    ordered = sorted(sources, key=len)
    return [pad_sequences(ordered[i : i + size], PAD) for i in range(0, len(ordered), size)]


def measure_decoding(minutes: float) -> str:
    """Translate by turns; store the table."""
    torch.manual_seed(0)
    model = Ending(our_config()).eval()
    sources = [pair.source for pair in sentence_pairs(512, seed=1)]

    def turn(
        decode: Callable[[Transformer, Tensor], Tensor], size: int, *, half: bool, share: int
    ) -> Callable[[], float]:
        # Each turn does one sentence in `share`, evenly over the lengths.
        todo = cycle([batches(sources[i::share], size) for i in range(share)])

        def take() -> float:
            some = next(todo)
            with bf16(half):
                for batch in some:
                    decode(model, batch)
            return float(sum(map(len, some)))

        return take

    one_by_one = "whole model for each token, one sentence"
    together = "whole model for each token, 64 sentences"
    names = {
        one_by_one: turn(whole_model_each_token, 1, half=False, share=64),
        together: turn(whole_model_each_token, 64, half=False, share=4),
        "cache, one sentence": turn(cached, 1, half=False, share=32),
        "cache, 64 sentences": turn(cached, 64, half=False, share=2),
        "cache, 128 sentences, bf16": turn(cached, 128, half=True, share=1),
    }
    seconds = take_rounds(names, minutes=minutes, name="decode")
    rows = [
        [
            who,
            spread([1 / s for s in numbers], 1),
            spread(ratios(seconds, one_by_one, who), 1),
            spread(ratios(seconds, together, who), 1),
        ]
        for who, numbers in seconds.items()
    ]
    text = (
        "Greedy, 3 + 3 layers, d_model 256, vocabulary 8,000, untrained; each translation is made "
        "to end when it is as long as its source. Targets: 24 × in fp32 and 45 × in bf16 against "
        "the first line, 6 × against the second.\n\n"
        + table(["", "sentences/s", "× one sentence", "× 64 sentences"], rows)
    )
    store("Greedy decoding", text, rounds=len(seconds[one_by_one]))
    return text
