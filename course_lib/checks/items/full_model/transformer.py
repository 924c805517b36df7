"""08.transformer: The whole model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.checks.adapters import use_module
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.blocks.block_parts import compare_moments
from course_lib.checks.items.full_model.shared import Fields, model_call, pair
from course_lib.model import (
    Transformer,
    TransformerConfig,
    causal_mask,
    decoder_mask,
    padding_mask,
)


def _use_transformer(
    make: Callable[[TransformerConfig], nn.Module], *inputs: Any, config: Fields, **more: Any
) -> Any:
    """As ``use_module``, with a config that comes as a dict of its fields."""
    return use_module(
        lambda config: make(TransformerConfig(**config)), *inputs, init={"config": config}, **more
    )


def _unpadded(draw: Draw) -> list[Call]:
    source, target = draw.ids(2, 5, high=10), draw.ids(2, 3, high=12)
    longer = draw.ids(2, 3, high=10), draw.ids(2, 6, high=12)
    return [
        model_call(draw, source, target, about="5 source words, 3 target words", n_layers=2),
        model_call(
            draw, *longer, about="3 source words, 6 target words, training mode", train=True
        ),
    ]


def _padded(draw: Draw) -> list[Call]:
    other = pair(draw, 3, 5, 4, pad_id=3, left=True)
    return [
        model_call(draw, *pair(draw, 3, 5, 5), about="pads on the right, both sides of one length"),
        model_call(draw, *pair(draw, 3, 6, 4), about="pads on the right, unlike lengths"),
        model_call(draw, *pair(draw, 3, 4, 6, left=True), about="pads on the left"),
        model_call(draw, *other, about="pad_id is 3, pads on the left, and 0 is a word", pad_id=3),
    ]


def _in_two_steps(draw: Draw) -> list[Call]:
    source, target = pair(draw, 3, 5, 4)
    memory = draw.normal(3, 5, 8)  # it need not be the source's: decode reads what it is given
    return [
        model_call(draw, source, about="encode alone", method="encode"),
        model_call(draw, target, memory, source, about="decode another memory", method="decode"),
        model_call(
            draw, target, memory, source, about="the memory's gradient", method="decode",
            gradients=True,
        ),
    ]  # fmt: skip


def _growing(draw: Draw) -> list[Call]:
    """One call's weights for all, and a target that grows."""
    source, target = draw.ids(2, 4, high=10), draw.ids(2, 5, high=12)
    whole = model_call(draw, source, target, about="")
    return [
        Call((source, target[:, :n]), whole.kwargs, about=f"the first {n} target words")
        for n in (1, 3, 5)
    ]


def _sizes(draw: Draw) -> list[Call]:
    one = draw.ids(1, 1, high=10), draw.ids(1, 1, high=12)
    other = {"n_layers": 3, "n_heads": 4, "norm": "pre", "final_norm": True}
    turned = draw.tokens(5, 3, high=10).T, draw.tokens(4, 3, high=12).T
    return [
        model_call(draw, *one, about="one sentence of one word"),
        model_call(draw, *pair(draw, 2, 3, 4), about="three pre-norm layers", **other),
        model_call(draw, *pair(draw, 2, 3, 4), about="float64", dtype=torch.float64),
        model_call(draw, *turned, about="tokens that are not contiguous"),
    ]


def _learning(draw: Draw) -> list[Call]:
    return [model_call(draw, *pair(draw, 3, 5, 4), about="the parameters' gradients", learns=True)]


def _dropped(draw: Draw) -> list[Call]:
    source, target = (draw.ids(1, 2, high=n).repeat(3000, 1) for n in (10, 12))
    calls = []
    for side, other in (("source", "target"), ("target", "source")):
        rates = {f"{side}_embedding_dropout": 0.4, f"{other}_embedding_dropout": 0.0}
        about = f"dropout 0.4 on the {side}'s embedding"
        calls.append(model_call(draw, source, target, about=about, train=True, **rates))
    return calls


item = Item(
    "08.transformer",
    reference=Transformer,
    use=_use_transformer,
    tolerance=1e-4,
    probes=[
        Probe("source and target become logits for the word after each", _unpadded),
        Probe("pads are read on neither side", _padded),
        Probe("encode gives the memory, and decode reads the memory it is given", _in_two_steps),
        Probe("a longer target changes no earlier logit", _growing),
        Probe("it holds for any sizes", _sizes),
        Probe("all parameters get their gradients", _learning),
        Probe("the embeddings drop as the config says", _dropped, compare=compare_moments),
    ],
    hints=(
        "Five parts and one wire, the memory. Draw them: what goes into each part, and which mask?",
        "encode: embedding, encoder, with the source's padding. decode: embedding, decoder, output "
        "layer; three attentions have three masks, and the decoder needs two of them. forward is "
        "decode after encode.",
        "In decode: x = self.target_embedding(target), then self.output(self.decoder(x, memory, "
        "..., ...)) with one mask made from target and one from source, both with config.pad_id.",
    ),
)


class _Variant(Transformer):
    """A Transformer whose masks and wires can be changed one by one."""

    def source_mask(self, source: Tensor) -> Any:
        return padding_mask(source, self.config.pad_id)

    def memory_mask(self, source: Tensor, target: Tensor) -> Any:
        return padding_mask(source, self.config.pad_id)

    def target_mask(self, target: Tensor) -> Any:
        return decoder_mask(target, self.config.pad_id)

    def embed(self, target: Tensor) -> Any:
        return self.target_embedding(target)

    def encode(self, source: Tensor) -> Any:
        return self.encoder(self.source_embedding(source), self.source_mask(source))

    def decode(self, target: Tensor, memory: Tensor, source: Tensor, *, cache: Any = None) -> Any:
        own, its = self.target_mask(target), self.memory_mask(source, target)
        return self.output(self.decoder(self.embed(target), memory, own, its))


@item.misconception(
    "Your decoder gets the target's mask for the memory, too.",
    why="The memory's columns are source words. With unlike lengths it is an error; with equal "
    "ones, target word 1 may read only source words 0 and 1.",
    hint="Which tokens does cross-attention read? Its mask is made from them.",
)
class TargetMaskForTheMemory(_Variant):
    def memory_mask(self, source: Tensor, target: Tensor) -> Any:
        return self.target_mask(target)


@item.misconception(
    "Your decoder's self-attention gets the padding mask alone: it reads the future.",
    why="The word to be predicted stands one place ahead, and the model would copy it.",
    hint="Change the last target word. May an earlier logit move?",
)
class FutureIsRead(_Variant):
    def target_mask(self, target: Tensor) -> Any:
        return padding_mask(target, self.config.pad_id)


@item.misconception(
    "Your decoder's self-attention gets the causal mask alone: the target's pads may be read.",
    why="With pads on the right they are everybody's future, and nobody notices. With pads on the "
    "left each word reads them; one published system does.",
    hint="Two things are to be hidden in the target.",
)
class TargetPadsAreRead(_Variant):
    def target_mask(self, target: Tensor) -> Any:
        return causal_mask(target.size(1))


@item.misconception(
    "Your encoder gets no mask: the source's pads are read like words.",
    why="Then a sentence's memory depends on how much padding its batch happens to need.",
    hint="How does the encoder know which source tokens are pads?",
)
class EncoderReadsPads(_Variant):
    def source_mask(self, source: Tensor) -> Any:
        return None


@item.misconception(
    "Your cross-attention gets no mask: it reads the memory of pads.",
    why="The encoder leaves a vector at each pad, too. It means nothing, and must not be read.",
    hint="Why does decode get the source, when it has the memory already?",
)
class MemoryOfPadsIsRead(_Variant):
    def memory_mask(self, source: Tensor, target: Tensor) -> Any:
        return None


@item.misconception(
    "Your masks always take 0 for the pad, whatever the config says.",
    why="One of the five published systems pads with 1. Another token would vanish, and the pads "
    "would be read.",
    hint="The config has a pad_id.",
)
class ZeroIsAlwaysThePad(_Variant):
    def source_mask(self, source: Tensor) -> Any:
        return padding_mask(source, 0)

    def memory_mask(self, source: Tensor, target: Tensor) -> Any:
        return padding_mask(source, 0)

    def target_mask(self, target: Tensor) -> Any:
        return decoder_mask(target, 0)


@item.misconception(
    "Your embeddings do not know the pad_id: they count pads as positions wherever pad_id is not "
    "0.",
    why="TransformerEmbedding gives a token its place among the real tokens. It takes 0 for the "
    "pad unless you say otherwise.",
    hint="Look at the arguments of TransformerEmbedding, one by one.",
)
class EmbeddingsIgnoreThePad(_Variant):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.source_embedding.pad_id = self.target_embedding.pad_id = 0


@item.misconception(
    "Your embeddings keep their own dropout of 0.1, whatever the config says.",
    why="A dropout of 0 in the config should mean none. In training mode your model is random all "
    "the same.",
    hint="TransformerEmbedding has a dropout of its own, and the config has one for each side.",
)
class EmbeddingDropoutLeftAsItIs(Transformer):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(
            replace(config, source_embedding_dropout=0.1, target_embedding_dropout=0.1)
        )


@item.misconception(
    "Your embeddings drop nothing, whatever the config says.",
    why="The paper applies dropout to the sums of embeddings and positions in both stacks "
    "(section 5.4).",
    hint="The config has a dropout for the embedding of each side.",
)
class EmbeddingsDropNothing(Transformer):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(
            replace(config, source_embedding_dropout=0.0, target_embedding_dropout=0.0)
        )


@item.misconception(
    "Your model ends in a softmax: it gives probabilities, not logits.",
    why="The loss applies a softmax itself. A second one leaves numbers between 0 and 1, and the "
    "loss can never come near zero.",
    hint="What is the last thing that decode does?",
)
class SoftmaxAtTheEnd(Transformer):
    def decode(self, target: Tensor, memory: Tensor, source: Tensor, *, cache: Any = None) -> Any:
        return super().decode(target, memory, source).softmax(dim=-1)


@item.misconception(
    "Your decode does not read the memory it is given: it encodes the source again.",
    why="In translation the source is encoded once and decode is called for each word. And whoever "
    "hands over a memory means it to be read.",
    hint="Which of decode's three arguments goes into the decoder as memory?",
)
class EncodesAgain(Transformer):
    def decode(self, target: Tensor, memory: Tensor, source: Tensor, *, cache: Any = None) -> Any:
        return super().decode(target, self.encode(source), source)


@item.misconception(
    "Your model skips the encoder: its memory is the embedded source.",
    why="Then no source word knows its neighbours, and all parameters of the encoder lie idle.",
    hint="Which part stands between the source's embedding and the memory?",
)
class EncoderSkipped(_Variant):
    def encode(self, source: Tensor) -> Any:
        return self.source_embedding(source)


@item.misconception(
    "Your forward drops the last target token, so there is a row too few.",
    why="Shifting the target by one is the batch's work, in lesson 09. Done here as well, it is "
    "done twice.",
    hint="T target tokens go in. How many rows of logits shall come out?",
)
class ShiftsTheTarget(Transformer):
    def forward(self, source: Tensor, target: Tensor) -> Any:
        return self.decode(target[:, :-1], self.encode(source), source)


@item.misconception(
    "Your model multiplies the embedded tokens by √d_model once more.",
    why="TransformerEmbedding has done that before it added the positions. Now the positions are "
    "scaled as well, and the words twice.",
    hint="Read what TransformerEmbedding returns.",
)
class ScaledTwice(_Variant):
    def embed(self, target: Tensor) -> Any:
        return self.target_embedding(target) * self.config.d_model**0.5

    def encode(self, source: Tensor) -> Any:
        x = self.source_embedding(source) * self.config.d_model**0.5
        return self.encoder(x, self.source_mask(source))


@item.misconception(
    "Your decode looks up the target's words in the source's table.",
    why="The two languages have vocabularies of their own. Some ids of one do not exist in the "
    "other; those that do mean other words.",
    hint="There are two embeddings. Which one has config.target_vocab rows?",
)
class SourceTableForTheTarget(_Variant):
    def embed(self, target: Tensor) -> Any:
        return self.source_embedding(target)
