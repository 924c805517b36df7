"""A model that can be passed as data, for items in which the learner's code is given one.

It has the methods of a Transformer that decoding uses, and looks its logits up in a table. Its next
token depends on every real token of the source and on every token of the prefix, so that code which
mixes these up gets a wrong answer. B batch, S source length, T target length, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.checks.engine import Draw
from course_lib.model import KeyValueCache, Transformer, preset
from course_lib.model.positions import check_length

LARGE_LOGIT = 100.0  # makes one token all but certain
PAD_MEMORY = 1000.0  # memory at pad tokens: code that attends to it gets a wrong answer


class ToyModel(Transformer):
    """Looks its predictions up in a table.

    Args:
        answers: logits (rows, V). The row depends on the source and on the prefix.
        ends: for source number i, EOS is token number ``ends[i]``; 0 means never. If it is empty,
            EOS is a token like any other.
        eos_id, pad_id, max_len: as in a Transformer.
        pad_at: token number ``pad_at`` is padding; 0 means that no token is.
        table: probabilities of the next token after each prefix, {"": {"3": 0.6, "4": 0.4},
            "3": …, "3 4": …}; after a prefix that is missing comes EOS. Used instead of ``answers``
            if given.
    """

    def __init__(
        self,
        answers: Tensor,
        ends: Sequence[int],
        *,
        eos_id: int,
        pad_id: int,
        max_len: int,
        pad_at: int = 0,
        table: Mapping[str, Mapping[str, float]] | None = None,
    ) -> None:
        sizes = {"d_model": 4, "d_ff": 4, "n_heads": 1, "n_layers": 1, "source_vocab": 100}
        vocab = answers.size(1)
        nn.Module.__init__(self)  # building the real layers would only cost time
        self.config = preset("small", target_vocab=vocab, pad_id=pad_id, max_len=max_len, **sizes)
        self.answers, self.ends, self.eos_id, self.table = answers, ends, eos_id, table
        self.pad_at = pad_at
        self.seen: dict[str, Any] = {"runs of the encoder": 0, "with dropout": False}
        self.seen |= {"with gradients": False, "called after all have ended": False}

    def encode(self, source: Tensor) -> Tensor:
        """(B, S) to (B, S, D), the same number D times."""
        self.seen["runs of the encoder"] += 1
        self._record_modes()
        numbers = source.float().masked_fill(source == self.config.pad_id, PAD_MEMORY)
        return numbers[:, :, None].repeat(1, 1, self.config.d_model)

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        source: Tensor,
        *,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """Logits (B, T, V) for the token after each position."""
        self._record_modes()
        if target.shape[0] != source.shape[0] or memory.shape[:2] != source.shape:
            raise ValueError(
                "target (batch, T), memory (batch, S, d_model) and source (batch, S) must agree, "
                f"got {tuple(target.shape)}, {tuple(memory.shape)} and {tuple(source.shape)}"
            )
        prefix = target if cache is None else cache.append(target)
        check_length(prefix.size(1), self.config.max_len)
        if prefix.numel() and bool((prefix[:, 1:] == self.eos_id).any(dim=1).all()):
            self.seen["called after all have ended"] = True
        real = source != self.config.pad_id
        keys = (memory[:, :, 0] * real).sum(dim=1).long()  # (B,)
        new = range(prefix.size(1) - target.size(1) + 1, prefix.size(1) + 1)
        logits = torch.stack([self._next(prefix[:, :length], keys) for length in new], dim=1)
        # Training mode changes the answer, as dropout would, but in the same way for everyone.
        return logits.flip(-1) if self.training else logits

    def _next(self, prefix: Tensor, keys: Tensor) -> Tensor:
        if self.table is not None:
            return self._from_table(self.table, prefix)
        length = prefix.size(1)
        factors = torch.arange(2, 2 + length) ** 2  # so that the order of the tokens matters
        rows = (17 * keys + (prefix * factors).sum(dim=1)) % len(self.answers)
        logits = self.answers[rows].clone()
        logits[:, self.config.pad_id] = LARGE_LOGIT if length == self.pad_at else -LARGE_LOGIT
        if self.ends:
            ends_now = torch.tensor(self.ends)[keys % len(self.ends)] == length
            logits[:, self.eos_id] = torch.where(ends_now, LARGE_LOGIT, -LARGE_LOGIT)
        return logits

    def _from_table(self, table: Mapping[str, Mapping[str, float]], prefix: Tensor) -> Tensor:
        probabilities = torch.zeros(len(prefix), self.answers.size(1))
        for row, tokens in zip(probabilities, prefix[:, 1:].tolist(), strict=True):
            following = table.get(" ".join(map(str, tokens)), {str(self.eos_id): 1.0})
            for token, probability in following.items():
                row[int(token)] = probability
        return probabilities.log()

    def _record_modes(self) -> None:
        self.seen["with dropout"] |= self.training
        self.seen["with gradients"] |= torch.is_grad_enabled()


def use_decoder(
    decode: Callable[..., Any],
    model: Mapping[str, Any],
    source: Tensor,
    bos_id: int,
    eos_id: int,
    *options: Any,
    train: bool = False,
    watch: Sequence[str] = (),
) -> Any:
    """Make a toy model and let a learner's function decode with it.

    Args:
        decode: called with (model, source, bos_id, eos_id, *options).
        model: the arguments of ``ToyModel``, except ``eos_id``.
        train: whether the model is passed in training mode.
        watch: what to return besides the answer, by name: an entry of ``ToyModel.seen``, or
            "in training mode afterwards".
    """
    toy = ToyModel(**model, eos_id=eos_id)
    toy.train(train)
    answer = decode(toy, source, bos_id, eos_id, *options)
    seen = toy.seen | {"in training mode afterwards": toy.training}
    return {"answer": answer} | {name: seen[name] for name in watch} if watch else answer


def draw_model(
    draw: Draw,
    *ends: int,
    vocab: int = 9,
    pad_id: int = 0,
    max_len: int = 30,
    mean: float = 0.0,
    std: float = 2.0,
) -> dict[str, Any]:
    """The arguments of a toy model; ``ends`` are the lengths of its translations.

    ``mean`` is that of its logits, which changes no probability.
    """
    return {
        "answers": draw.normal(211, vocab, std=std) + mean,
        "ends": list(ends),
        "pad_id": pad_id,
        "max_len": max_len,
    }


def draw_sources(
    draw: Draw, batch: int, length: int, *, pad_id: int = 0, left: bool = False
) -> Tensor:
    """Padded sources (batch, length), in which row i is the model's source number i."""
    source = draw.tokens(batch, length, pad_id=pad_id, left=left)
    for number, row in enumerate(source):
        last = int((row != pad_id).nonzero()[-1])
        others = int(row[row != pad_id].sum() - row[last])
        row[last] = next(
            token for token in range(20, 99) if (others + token) % batch == number % batch
        )
    return source
