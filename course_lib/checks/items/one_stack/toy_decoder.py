"""A decoder-only model that can be passed as data: it looks its logits up in a table.

Its next token depends on every token so far, on where each of them stands, and on how long the
prefix is, so that code which mixes these up gets a wrong answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.checks.engine import Draw
from course_lib.model.positions import check_length
from course_lib.modern import DecoderCache, DecoderConfig, DecoderOnly, prefix_mask

LARGE_LOGIT = 100.0  # makes one token all but certain


class ToyDecoder(DecoderOnly):
    """Looks its predictions up in a table.

    Args:
        answers: logits (rows, V). The row depends on the tokens so far and on the prefix.
        ends: for text number i, EOS is new token number ``ends[i]``, and would be the one after
            the next again; 0 means never. The number is the sum of the ids that were given, modulo
            how many texts there are.
        start: how many tokens there are before the first new one.
        eos_id, max_len: EOS, and the most positions.
    """

    def __init__(
        self, answers: Tensor, ends: Sequence[int], *, start: int, eos_id: int, max_len: int
    ) -> None:
        nn.Module.__init__(self)  # building the real layers would only cost time
        self.config = DecoderConfig(
            vocab=answers.size(1), d_model=4, d_ff=4, n_heads=1, n_layers=1, max_len=max_len
        )
        self.answers, self.ends, self.start, self.eos_id = answers, ends, start, eos_id
        self.center, self.calls = answers.mean(), 0
        self.seen: dict[str, Any] = {"with gradients": False, "called after all have ended": False}

    def forward(
        self,
        tokens: Tensor,
        *,
        prefix: Tensor | None = None,
        cache: DecoderCache | None = None,
    ) -> Tensor:
        """Logits (B, L, V) for the token after each position."""
        self.calls += 1
        self.seen["with gradients"] |= torch.is_grad_enabled()
        earlier = getattr(cache, "tokens", tokens[:, :0])
        if len(earlier) != len(tokens):
            raise ValueError(
                f"the cache holds {len(earlier)} rows and tokens have {len(tokens)}: make a new "
                "cache for each batch"
            )
        text = torch.cat((earlier, tokens), dim=1)
        check_length(text.size(1), self.config.max_len)
        lengths = torch.zeros(len(text), dtype=torch.long) if prefix is None else prefix
        prefix_mask(lengths, text.size(1)).expand(len(text), -1, -1, -1)  # only to check them
        if cache is not None:
            cache.tokens, cache.length = text, text.size(1)  # type: ignore[attr-defined]
        if text.size(1) > self.start and self._all_have_ended(text):
            self.seen["called after all have ended"] = True
        steps = range(text.size(1) - tokens.size(1) + 1, text.size(1) + 1)
        return torch.stack([self._next(text[:, :length], lengths) for length in steps], dim=1)

    def _all_have_ended(self, text: Tensor) -> bool:
        """Not of texts that were filled up with EOS beforehand: as many calls are needed."""
        ended = (text[:, self.start :] == self.eos_id).any(dim=1).all()
        return self.calls > max(self.ends) and bool(ended)

    def _next(self, text: Tensor, lengths: Tensor) -> Tensor:
        length = text.size(1)
        factors = torch.arange(2, 2 + length) ** 2  # so that the order of the tokens matters
        rows = (31 * lengths + (text * factors).sum(dim=1)) % len(self.answers)
        logits = self.answers[rows].clone()
        number = text[:, : self.start].sum(dim=1) % len(self.ends)
        ends, now = torch.tensor(self.ends)[number], length - self.start + 1
        ends_now = (ends == now) | (ends > 0) & (ends + 2 == now)
        logits[:, self.eos_id] = self.center + torch.where(ends_now, LARGE_LOGIT, -LARGE_LOGIT)
        return logits


def use_decoder_only(
    continue_text: Callable[..., Any],
    model: Mapping[str, Any],
    tokens: Tensor,
    *,
    eos_id: int,
    watch: Sequence[str] = (),
    **options: Any,
) -> Any:
    """Make a toy model and let a learner's function continue the tokens with it.

    Args:
        model: the arguments of ``ToyDecoder``, except ``eos_id``.
        watch: what to return besides the answer, by name: an entry of ``ToyDecoder.seen``.
    """
    toy = ToyDecoder(**model, eos_id=eos_id)
    answer = continue_text(toy, tokens, eos_id=eos_id, **options)
    return {"answer": answer} | {name: toy.seen[name] for name in watch} if watch else answer


def draw_decoder(
    draw: Draw, *ends: int, start: int, vocab: int = 9, max_len: int = 30, mean: float = 0.0
) -> dict[str, Any]:
    """The arguments of a toy model; ``ends`` are the lengths of what it writes.

    ``mean`` is that of its logits, which changes no probability.
    """
    answers = draw.normal(211, vocab, std=2.0) + mean
    return {"answers": answers, "ends": list(ends), "start": start, "max_len": max_len}


def draw_texts(draw: Draw, batch: int, *last: int, length: int) -> Tensor:
    """Tokens (batch, length) that end with these; row i is the model's text number i."""
    tokens = draw.ids(batch, length, low=9)
    tokens[:, length - len(last) :] = torch.tensor(last)
    for number, row in enumerate(tokens):
        row[0] = 20 + (number - 20 - int(row[1:].sum())) % batch
    return tokens
