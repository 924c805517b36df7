"""A model that can be handed over as data, for items whose code is given one.

It has the parts of a Transformer that decoding uses, and looks its answers up. What it says next
depends on every real token of the source and on every token said so far, so nobody who mixes them
up goes unnoticed. B batch, S source length, T target length, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.checks.draw import Draw
from course_lib.model import KeyValueCache, Transformer, preset
from course_lib.model.positions import check_length

LOUD = 100.0  # a logit that no other comes near
FAR = 1000.0  # what memory holds where the source has a pad: who reads it gets another answer


class ToyModel(Transformer):
    """Says what a table says.

    Args:
        answers: logits (rows, V). Which row counts depends on the source and on what was said.
        ends: source number i says the end as token number ``ends[i]``; 0 means never. If it is
            empty, the end is a word like any other.
        eos_id, pad_id, max_len: as usual.
        table: probabilities of the next tokens after each beginning, {"": {"3": 0.6, "4": 0.4},
            "3": …, "3 4": …}; after a beginning that is missing comes the end. Used instead of
            ``answers`` if it is given.
    """

    def __init__(
        self,
        answers: Tensor,
        ends: Sequence[int],
        *,
        eos_id: int,
        pad_id: int,
        max_len: int,
        table: Mapping[str, Mapping[str, float]] | None = None,
    ) -> None:
        sizes = {"d_model": 4, "d_ff": 4, "n_heads": 1, "n_layers": 1, "source_vocab": 100}
        vocab = answers.size(1)
        nn.Module.__init__(self)  # a Transformer's parts would take long to make, and do nothing
        self.config = preset("small", target_vocab=vocab, pad_id=pad_id, max_len=max_len, **sizes)
        self.answers, self.ends, self.eos_id, self.table = answers, ends, eos_id, table
        self.seen: dict[str, Any] = {"runs of the encoder": 0, "with dropout": False}
        self.seen |= {"with gradients": False, "asked after the end": False}

    def encode(self, source: Tensor) -> Tensor:
        """(B, S) to (B, S, D), the same number D times."""
        self.seen["runs of the encoder"] += 1
        self._look_round()
        numbers = source.float().masked_fill(source == self.config.pad_id, FAR)
        return numbers[:, :, None].repeat(1, 1, self.config.d_model)

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        source: Tensor,
        *,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """Logits (B, T, V) for the token after each."""
        self._look_round()
        if target.shape[0] != source.shape[0] or memory.shape[:2] != source.shape:
            raise ValueError(
                "target (batch, T), memory (batch, S, d_model) and source (batch, S) must agree, "
                f"got {tuple(target.shape)}, {tuple(memory.shape)} and {tuple(source.shape)}"
            )
        said = target if cache is None else cache.append(target)
        check_length(said.size(1), self.config.max_len)
        if said.numel() and bool((said[:, 1:] == self.eos_id).any(dim=1).all()):
            self.seen["asked after the end"] = True
        real = source != self.config.pad_id
        keys = (memory[:, :, 0] * real).sum(dim=1).long()  # (B,)
        new = range(said.size(1) - target.size(1) + 1, said.size(1) + 1)
        logits = torch.stack([self._next(said[:, :length], keys) for length in new], dim=1)
        # In training the model is another one, as with dropout, but the same for everyone.
        return logits.flip(-1) if self.training else logits

    def _next(self, said: Tensor, keys: Tensor) -> Tensor:
        if self.table is not None:
            return self._from_table(self.table, said)
        length = said.size(1)
        places = torch.arange(2, 2 + length)
        rows = (17 * keys + (said * places * places).sum(dim=1)) % len(self.answers)
        logits = self.answers[rows].clone()
        logits[:, self.config.pad_id] = -LOUD
        if self.ends:
            due = torch.tensor(self.ends)[keys % len(self.ends)] == length
            logits[:, self.eos_id] = torch.where(due, LOUD, -LOUD)
        return logits

    def _from_table(self, table: Mapping[str, Mapping[str, float]], said: Tensor) -> Tensor:
        probabilities = torch.zeros(len(said), self.answers.size(1))
        for row, tokens in zip(probabilities, said[:, 1:].tolist(), strict=True):
            following = table.get(" ".join(map(str, tokens)), {str(self.eos_id): 1.0})
            for token, probability in following.items():
                row[int(token)] = probability
        return probabilities.log()

    def _look_round(self) -> None:
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
        model: what a ``ToyModel`` is made of, but for ``eos_id``.
        train: the mode in which the model is handed over.
        watch: what is given back beside the answer, by name: an entry of ``ToyModel.seen``, or
            "in training afterwards".
    """
    toy = ToyModel(**model, eos_id=eos_id)
    toy.train(train)
    said = decode(toy, source, bos_id, eos_id, *options)
    seen = toy.seen | {"in training afterwards": toy.training}
    return {"answer": said} | {name: seen[name] for name in watch} if watch else said


def draw_model(
    draw: Draw, *ends: int, vocab: int = 9, pad_id: int = 0, max_len: int = 30, std: float = 2.0
) -> dict[str, Any]:
    """The data of a toy model whose sources end after so many tokens."""
    return {
        "answers": draw.normal(211, vocab, std=std),
        "ends": list(ends),
        "pad_id": pad_id,
        "max_len": max_len,
    }


def draw_sources(
    draw: Draw, batch: int, length: int, *, pad_id: int = 0, left: bool = False
) -> Tensor:
    """Sources (batch, length), padded, of a batch in which row i is the model's source number i."""
    source = draw.tokens(batch, length, pad_id=pad_id, left=left)
    for number, row in enumerate(source):
        last = int((row != pad_id).nonzero()[-1])
        others = int(row[row != pad_id].sum() - row[last])
        row[last] = next(
            token for token in range(20, 99) if (others + token) % batch == number % batch
        )
    return source
