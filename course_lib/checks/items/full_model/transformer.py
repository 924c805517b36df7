"""08.transformer: The whole model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.checks.engine import Call, Draw, Item, Probe, variation
from course_lib.checks.engine.adapters import use_module
from course_lib.checks.items.blocks.block_parts import compare_moments
from course_lib.checks.items.full_model.small_transformer import Fields, model_call, pair
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
        model_call(draw, source, target, about="5 source tokens, 3 target tokens", n_layers=2),
        model_call(
            draw, *longer, about="3 source tokens, 6 target tokens, training mode", train=True
        ),
    ]


def _padded(draw: Draw) -> list[Call]:
    other = pair(draw, 3, 5, 4, pad_id=3, left=True)
    return [
        model_call(draw, *pair(draw, 3, 5, 5), about="padding on the right, equal lengths"),
        model_call(draw, *pair(draw, 3, 6, 4), about="padding on the right, different lengths"),
        model_call(draw, *pair(draw, 3, 4, 6, left=True), about="padding on the left"),
        model_call(
            draw, *other, about="pad_id 3, padding on the left, 0 is a real token", pad_id=3
        ),
    ]


def _in_two_steps(draw: Draw) -> list[Call]:
    source, target = pair(draw, 3, 5, 4)
    memory = draw.normal(3, 5, 8)  # not the source's: decode has to use the one it is given
    return [
        model_call(draw, source, about="encode by itself", method="encode"),
        model_call(draw, target, memory, source, about="decode, another memory", method="decode"),
        model_call(
            draw, target, memory, source, about="the memory's gradient", method="decode",
            gradients=True,
        ),
    ]  # fmt: skip


def _growing(draw: Draw) -> list[Call]:
    """The same weights for all calls, and a target that grows."""
    source, target = draw.ids(2, 4, high=10), draw.ids(2, 5, high=12)
    whole = model_call(draw, source, target, about="")
    return [
        Call((source, target[:, :n]), whole.kwargs, about=f"the first {n} target tokens")
        for n in (1, 3, 5)
    ]


def _sizes(draw: Draw) -> list[Call]:
    one = draw.ids(1, 1, high=10), draw.ids(1, 1, high=12)
    other = {"n_layers": 3, "n_heads": 4, "norm": "pre", "final_norm": True}
    turned = draw.tokens(5, 3, high=10).T, draw.tokens(4, 3, high=12).T
    return [
        model_call(draw, *one, about="one sentence of one token"),
        model_call(draw, *pair(draw, 2, 3, 4), about="three pre-norm layers", **other),
        model_call(draw, *pair(draw, 2, 3, 4), about="float64", dtype=torch.float64),
        model_call(draw, *turned, about="tokens that are not contiguous"),
        model_call(
            draw, *pair(draw, 2, 3, 4), about="two vocabularies of one size", source_vocab=13
        ),
    ]


def _learning(draw: Draw) -> list[Call]:
    return [model_call(draw, *pair(draw, 3, 5, 4), about="the parameters' gradients", learns=True)]


def _dropped(side: str, draw: Draw) -> list[Call]:
    source, target = (draw.ids(1, 2, high=n).repeat(3000, 1) for n in (10, 12))
    rates = {"source_embedding_dropout": 0.0, "target_embedding_dropout": 0.0}
    rates[f"{side}_embedding_dropout"] = 0.4
    about = f"dropout 0.4 on the {side} embedding only"
    return [model_call(draw, source, target, about=about, train=True, **rates)]


item = Item(
    "08.transformer",
    reference=Transformer,
    use=_use_transformer,
    tolerance=1e-4,
    probes=[
        Probe("source and target give logits for the next token at each position", _unpadded),
        Probe("nothing attends to padding, on either side", _padded),
        Probe("encode returns the memory, and decode uses the memory it is given", _in_two_steps),
        Probe("a longer target changes no earlier logits", _growing),
        Probe("it works for any sizes", _sizes),
        Probe("every parameter gets its gradient", _learning),
        *(
            Probe(
                f"the {side} embedding uses its own dropout of the config",
                partial(_dropped, side),
                compare=compare_moments,
            )
            for side in ("source", "target")
        ),
    ],
    hints=(
        "Five modules, and one thing that passes from encoder to decoder: the memory. Draw them: "
        "what goes into each module, and which mask?",
        "encode sends the tokens through the embedding and then through the encoder, with the "
        "source's padding mask. decode uses the embedding, the decoder and the output layer. The "
        "model has three kinds of attention, each with a mask of its own, and the decoder takes "
        "two of these masks. forward calls encode, and then decode.",
        "encode is one call inside another: the embedding, and around it the encoder with its "
        "mask. decode is the same with the parts of the target, and with the output layer around "
        "it all. The decoder takes x, the memory, the mask for its self-attention and the mask "
        "for its cross-attention, in this order. From which tokens is each of these two masks "
        "made?",
    ),
)


class _Variant(Transformer):
    """A Transformer whose masks and connections can be changed one by one."""

    def source_mask(self, source: Tensor) -> Any:
        return padding_mask(source, self.config.pad_id)

    def memory_mask(self, source: Tensor, target: Tensor) -> Any:
        return padding_mask(source, self.config.pad_id)

    def target_mask(self, target: Tensor) -> Any:
        return decoder_mask(target, self.config.pad_id)

    def embed(self, target: Tensor) -> Any:
        return self.target_embedding(target)

    def embed_source(self, source: Tensor) -> Any:
        return self.source_embedding(source)

    def logits(self, x: Tensor) -> Any:
        return self.output(x)

    def encode(self, source: Tensor) -> Any:
        return self.encoder(self.embed_source(source), self.source_mask(source))

    def decode(self, target: Tensor, memory: Tensor, source: Tensor, *, cache: Any = None) -> Any:
        masks = self.target_mask(target), self.memory_mask(source, target)
        return self.logits(self.decoder(self.embed(target), memory, *masks))


def _no_mask(model: _Variant, *tokens: Tensor) -> None:
    return None


def _with_dropouts(config: TransformerConfig, *, source: float, target: float) -> TransformerConfig:
    """The config with these rates for the two embeddings."""
    return replace(config, source_embedding_dropout=source, target_embedding_dropout=target)


@item.misconception(
    "Your decoder uses the target's mask for the memory, too.",
    why="The columns of this mask should be source positions. If source and target differ in "
    "length, you usually get an error. If they don't, you get none, and yet the target's mask "
    "knows nothing of the source: it can hide real tokens, and it doesn't hide the source's "
    "padding.",
    hint="Which tokens does cross-attention attend to? Its mask is made from them.",
)
class TargetMaskForTheMemory(_Variant):
    def memory_mask(self, source: Tensor, target: Tensor) -> Any:
        return self.target_mask(target)


item.spelling_with(
    "TargetMaskForTheMemory",
    memory_mask=lambda model, source, target: padding_mask(target, model.config.pad_id),
)


@item.misconception(
    "Your decoder's self-attention has only the padding mask, so it attends to the future.",
    why="The token to be predicted is one position ahead, and the model would simply copy it.",
    hint="Change the last target token. Should any earlier logits change?",
)
class FutureIsRead(_Variant):
    def target_mask(self, target: Tensor) -> Any:
        return padding_mask(target, self.config.pad_id)


item.add(
    variation(_Variant, "TargetHasNoMask", target_mask=_no_mask),
    "Your decoder's self-attention has no mask: it attends to the future and to padding.",
    why="The token to be predicted is one position ahead, and the model would simply copy it.",
    hint="There are two things to hide in the target.",
)


@item.misconception(
    "Your decoder's self-attention has only the causal mask, so it attends to the target's "
    "padding.",
    why="If the padding is on the right, it's always in the future, so nobody notices. If it's on "
    "the left, every token attends to it. One of the five published systems has this bug.",
    hint="There are two things to hide in the target.",
)
class TargetPadsAreRead(_Variant):
    def target_mask(self, target: Tensor) -> Any:
        return causal_mask(target.size(1))


item.add(
    variation(_Variant, "EncoderReadsPads", source_mask=_no_mask),
    "Your encoder attends to the source's padding as if it were text: no mask hides it.",
    why="The memory of a sentence then depends on how much padding its batch happens to need.",
    hint="How does the encoder know which source tokens are padding?",
)
item.add(
    variation(_Variant, "MemoryOfPadsIsRead", memory_mask=_no_mask),
    "Your cross-attention attends to the memory of pad tokens: no mask hides it.",
    why="The encoder returns a vector for each pad token, too. It means nothing and must be "
    "hidden.",
    hint="Why does decode get the source when it already has the memory?",
)


@item.misconception(
    "Your masks always take 0 as the pad token, whatever the config says.",
    why="pad_id can be any id. Where it isn't 0, token 0 is hidden and the padding isn't.",
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
    "At least one embedding of your model doesn't know the pad_id: if that isn't 0, it counts pad "
    "tokens as positions.",
    why="TransformerEmbedding numbers the real tokens only. It takes 0 as the pad token unless you "
    "tell it otherwise.",
    hint="Look at the arguments of both TransformerEmbeddings, one by one.",
)
class EmbeddingsIgnoreThePad(_Variant):
    sides: tuple[str, ...] = ("source", "target")

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        for side in self.sides:
            getattr(self, f"{side}_embedding").pad_id = 0


for _side in ("source", "target"):
    item.spelling_with("EmbeddingsIgnoreThePad", sides=(_side,))


@item.misconception(
    "Your embeddings keep their default dropout of 0.1, whatever the config says.",
    why="A dropout of 0 in the config should mean none, but in training mode your model is still "
    "random.",
    hint="TransformerEmbedding takes a dropout, and the config has one for each side.",
)
class EmbeddingDropoutLeftAsItIs(_Variant):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(_with_dropouts(config, source=0.1, target=0.1))


@item.misconception(
    "Your embeddings have no dropout, whatever the config says.",
    why="The paper applies dropout to the sums of embeddings and positions in both stacks "
    "(section 5.4).",
    hint="The config has a dropout for each side's embedding.",
)
class EmbeddingsDropNothing(_Variant):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(_with_dropouts(config, source=0.0, target=0.0))


@item.misconception(
    "The dropouts of your two embeddings are swapped.",
    why="The config has one for each side, and they may differ.",
    hint="Which field of the config does each of your two embeddings get?",
)
class EmbeddingDropoutsSwapped(_Variant):
    def __init__(self, config: TransformerConfig) -> None:
        source, target = config.source_embedding_dropout, config.target_embedding_dropout
        super().__init__(_with_dropouts(config, source=target, target=source))


@item.misconception(
    "Both of your embeddings have the dropout of one side.",
    why="The config has one for each side, and they may differ.",
    hint="Which field of the config does each of your two embeddings get?",
)
class OneDropoutForBoth(_Variant):
    side = "source"

    def __init__(self, config: TransformerConfig) -> None:
        rate = getattr(config, f"{self.side}_embedding_dropout")
        super().__init__(_with_dropouts(config, source=rate, target=rate))


item.spelling_with("OneDropoutForBoth", side="target")


@item.misconception(
    "The vocabularies of your two embeddings are swapped.",
    why="Each embedding needs one row for each token of its own side. Some ids of one vocabulary "
    "don't exist in the other.",
    hint="Which of the two embeddings has config.source_vocab rows?",
)
class VocabulariesSwapped(_Variant):
    def __init__(self, config: TransformerConfig) -> None:
        source, target = config.source_vocab, config.target_vocab
        super().__init__(replace(config, source_vocab=target, target_vocab=source))
        self.output = nn.Linear(config.d_model, target)


@item.misconception(
    "Your output layer has a row for each token of the source vocabulary.",
    why="The logits are about the next target token, so there's one for each token of the target "
    "vocabulary.",
    hint="Which tokens does the model predict?",
)
class PredictsSourceTokens(_Variant):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.output = nn.Linear(config.d_model, config.source_vocab)


@item.misconception(
    "Your model ends with a softmax: it returns probabilities, not logits.",
    why="The loss applies softmax itself. A second softmax only sees numbers between 0 and 1, and "
    "the loss can never come near zero.",
    hint="What is the last thing that decode does?",
)
class SoftmaxAtTheEnd(_Variant):
    def logits(self, x: Tensor) -> Any:
        return self.output(x).softmax(dim=-1)


@item.misconception(
    "Your model ends with a log-softmax: it returns log probabilities, not logits.",
    why="The loss applies log-softmax itself. A second one changes nothing there, but the task "
    "asks for the numbers of the output layer.",
    hint="What is the last thing that decode does?",
)
class LogSoftmaxAtTheEnd(_Variant):
    def logits(self, x: Tensor) -> Any:
        return self.output(x).log_softmax(dim=-1)


@item.misconception(
    "Your decode ignores the memory it is given and encodes the source again.",
    why="In translation the source is encoded once, and decode is called for every token. A caller "
    "who passes a memory expects it to be used.",
    hint="Which of decode's three arguments goes into the decoder as memory?",
)
class EncodesAgain(_Variant):
    def decode(self, target: Tensor, memory: Tensor, source: Tensor, *, cache: Any = None) -> Any:
        return super().decode(target, self.encode(source), source)


@item.misconception(
    "Your model skips the encoder: its memory is the embedded source.",
    why="Then no source token attends to its neighbours, and none of the encoder's parameters are "
    "used.",
    hint="Which module comes between the source embedding and the memory?",
)
class EncoderSkipped(_Variant):
    def encode(self, source: Tensor) -> Any:
        return self.embed_source(source)


@item.misconception(
    "Your forward returns one row of logits too few: that of the last target token is missing.",
    why="The target is shifted by one when a batch is made, in lesson 09. Here it would be shifted "
    "twice.",
    hint="T target tokens go in. How many rows of logits should come out?",
)
class ShiftsTheTarget(_Variant):
    def forward(self, source: Tensor, target: Tensor) -> Any:
        return self.decode(target[:, :-1], self.encode(source), source)


@item.misconception(
    "Your model multiplies the embedded tokens by √d_model a second time.",
    why="TransformerEmbedding already did that before it added the positions. Now the positions "
    "are scaled as well, and the tokens twice.",
    hint="Read what TransformerEmbedding returns.",
)
class ScaledTwice(_Variant):
    def embed(self, target: Tensor) -> Any:
        return super().embed(target) * self.config.d_model**0.5

    def embed_source(self, source: Tensor) -> Any:
        return super().embed_source(source) * self.config.d_model**0.5


@item.misconception(
    "Your decode looks up the target's tokens in the source's table.",
    why="Each language has its own vocabulary. Some ids of one don't exist in the other; those "
    "that do mean other tokens.",
    hint="There are two embeddings. Which one has config.target_vocab rows?",
)
class SourceTableForTheTarget(_Variant):
    def embed(self, target: Tensor) -> Any:
        return self.source_embedding(target)
