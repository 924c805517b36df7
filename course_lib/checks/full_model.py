"""Items of lesson 08: the parts become one model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.checks.adapters import load_weights, use_module
from course_lib.checks.blocks import spread_as_it_must
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe
from course_lib.model import (
    PRESETS,
    DecoderBlock,
    EncoderBlock,
    Transformer,
    TransformerConfig,
    causal_mask,
    count_parameters,
    decoder_mask,
    padding_mask,
    parameter_parts,
)

Fields = Mapping[str, Any]  # of a TransformerConfig, as plain data
SMALL: Fields = {
    "source_vocab": 11,
    "target_vocab": 13,
    "d_model": 8,
    "d_ff": 12,
    "n_heads": 2,
    "n_layers": 1,
    "max_len": 64,
    "source_embedding_dropout": 0.0,
    "target_embedding_dropout": 0.0,
    "residual_dropout": 0.0,
}

# --- 08.transformer ------------------------------------------------------------------------------


def _use_transformer(
    make: Callable[[TransformerConfig], nn.Module], *inputs: Any, config: Fields, **more: Any
) -> Any:
    """As ``use_module``, with a config that comes as a dict of its fields."""
    return use_module(
        lambda config: make(TransformerConfig(**config)), *inputs, init={"config": config}, **more
    )


def _call(draw: Draw, *inputs: Tensor, about: str, **more: Any) -> Call:
    """A call of a small Transformer; what is no argument of ``use_module`` changes the config."""
    known = ("train", "method", "learns")
    kwargs = {name: more.pop(name) for name in known if name in more}
    dtype, gradients = more.pop("dtype", torch.float32), more.pop("gradients", False)
    config = {**SMALL, **more}
    model = Transformer(TransformerConfig(**config))
    weights = {name: weight.to(dtype) for name, weight in draw.weights(model).items()}
    return Call(inputs, {"config": config, "weights": weights, **kwargs}, about, gradients)


def _pair(
    draw: Draw, batch: int, source: int, target: int, *, pad_id: int = 0, left: bool = False
) -> tuple[Tensor, Tensor]:
    """Padded source and target tokens; some of the target's are no words of the source."""
    kind: dict[str, Any] = {"pad_id": pad_id, "left": left}
    return draw.tokens(batch, source, high=10, **kind), draw.tokens(batch, target, high=12, **kind)


def _unpadded(draw: Draw) -> list[Call]:
    source, target = draw.ids(2, 5, high=10), draw.ids(2, 3, high=12)
    longer = draw.ids(2, 3, high=10), draw.ids(2, 6, high=12)
    return [
        _call(draw, source, target, about="5 source words, 3 target words", n_layers=2),
        _call(draw, *longer, about="3 source words, 6 target words, training mode", train=True),
    ]


def _padded(draw: Draw) -> list[Call]:
    other = _pair(draw, 3, 5, 4, pad_id=3, left=True)
    return [
        _call(draw, *_pair(draw, 3, 5, 5), about="pads on the right, both sides of one length"),
        _call(draw, *_pair(draw, 3, 6, 4), about="pads on the right, unlike lengths"),
        _call(draw, *_pair(draw, 3, 4, 6, left=True), about="pads on the left"),
        _call(draw, *other, about="pad_id is 3, pads on the left, and 0 is a word", pad_id=3),
    ]


def _in_two_steps(draw: Draw) -> list[Call]:
    source, target = _pair(draw, 3, 5, 4)
    memory = draw.normal(3, 5, 8)  # it need not be the source's: decode reads what it is given
    return [
        _call(draw, source, about="encode alone", method="encode"),
        _call(draw, target, memory, source, about="decode with another memory", method="decode"),
        _call(
            draw, target, memory, source, about="the memory's gradient", method="decode",
            gradients=True,
        ),
    ]  # fmt: skip


def _growing(draw: Draw) -> list[Call]:
    """One call's weights for all, and a target that grows."""
    source, target = draw.ids(2, 4, high=10), draw.ids(2, 5, high=12)
    whole = _call(draw, source, target, about="")
    return [
        Call((source, target[:, :n]), whole.kwargs, about=f"the first {n} target words")
        for n in (1, 3, 5)
    ]


def _sizes(draw: Draw) -> list[Call]:
    one = draw.ids(1, 1, high=10), draw.ids(1, 1, high=12)
    other = {"n_layers": 3, "n_heads": 4, "norm": "pre", "final_norm": True}
    turned = draw.tokens(5, 3, high=10).T, draw.tokens(4, 3, high=12).T
    return [
        _call(draw, *one, about="one sentence of one word"),
        _call(draw, *_pair(draw, 2, 3, 4), about="three pre-norm layers", **other),
        _call(draw, *_pair(draw, 2, 3, 4), about="float64", dtype=torch.float64),
        _call(draw, *turned, about="tokens that are not contiguous"),
    ]


def _learning(draw: Draw) -> list[Call]:
    return [_call(draw, *_pair(draw, 3, 5, 4), about="the parameters' gradients", learns=True)]


def _dropped(draw: Draw) -> list[Call]:
    source, target = (draw.ids(1, 2, high=n).repeat(3000, 1) for n in (10, 12))
    calls = []
    for side, other in (("source", "target"), ("target", "source")):
        rates = {f"{side}_embedding_dropout": 0.4, f"{other}_embedding_dropout": 0.0}
        about = f"dropout 0.4 on the {side}'s embedding"
        calls.append(_call(draw, source, target, about=about, train=True, **rates))
    return calls


transformer = Item(
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
        Probe("the embeddings drop as the config says", _dropped, judge=spread_as_it_must),
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


@transformer.mistake(
    "Your decoder gets the target's mask for the memory, too.",
    why="The memory's columns are source words. With unlike lengths it is an error; with equal "
    "ones, target word 1 may read only source words 0 and 1.",
    hint="Which tokens does cross-attention read? Its mask is made from them.",
)
class TargetMaskForTheMemory(_Variant):
    def memory_mask(self, source: Tensor, target: Tensor) -> Any:
        return self.target_mask(target)


@transformer.mistake(
    "Your decoder's self-attention gets the padding mask alone: it reads the future.",
    why="The word to be predicted stands one place ahead, and the model would copy it.",
    hint="Change the last target word. May an earlier logit move?",
)
class FutureIsRead(_Variant):
    def target_mask(self, target: Tensor) -> Any:
        return padding_mask(target, self.config.pad_id)


@transformer.mistake(
    "Your decoder's self-attention gets the causal mask alone: the target's pads may be read.",
    why="With pads on the right they are everybody's future, and nobody notices. With pads on the "
    "left each word reads them; one published system does.",
    hint="Two things are to be hidden in the target.",
)
class TargetPadsAreRead(_Variant):
    def target_mask(self, target: Tensor) -> Any:
        return causal_mask(target.size(1))


@transformer.mistake(
    "Your encoder gets no mask: the source's pads are read like words.",
    why="Then a sentence's memory depends on how much padding its batch happens to need.",
    hint="How does the encoder know which source tokens are pads?",
)
class EncoderReadsPads(_Variant):
    def source_mask(self, source: Tensor) -> Any:
        return None


@transformer.mistake(
    "Your cross-attention gets no mask: it reads the memory of pads.",
    why="The encoder leaves a vector at each pad, too. It means nothing, and must not be read.",
    hint="Why does decode get the source, when it has the memory already?",
)
class MemoryOfPadsIsRead(_Variant):
    def memory_mask(self, source: Tensor, target: Tensor) -> Any:
        return None


@transformer.mistake(
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


@transformer.mistake(
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


@transformer.mistake(
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


@transformer.mistake(
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


@transformer.mistake(
    "Your model ends in a softmax: it gives probabilities, not logits.",
    why="The loss applies a softmax itself. A second one leaves numbers between 0 and 1, and the "
    "loss can never come near zero.",
    hint="What is the last thing that decode does?",
)
class SoftmaxAtTheEnd(Transformer):
    def decode(self, target: Tensor, memory: Tensor, source: Tensor, *, cache: Any = None) -> Any:
        return super().decode(target, memory, source).softmax(dim=-1)


@transformer.mistake(
    "Your decode does not read the memory it is given: it encodes the source again.",
    why="In translation the source is encoded once and decode is called for each word. And whoever "
    "hands over a memory means it to be read.",
    hint="Which of decode's three arguments goes into the decoder as memory?",
)
class EncodesAgain(Transformer):
    def decode(self, target: Tensor, memory: Tensor, source: Tensor, *, cache: Any = None) -> Any:
        return super().decode(target, self.encode(source), source)


@transformer.mistake(
    "Your model skips the encoder: its memory is the embedded source.",
    why="Then no source word knows its neighbours, and all parameters of the encoder lie idle.",
    hint="Which part stands between the source's embedding and the memory?",
)
class EncoderSkipped(_Variant):
    def encode(self, source: Tensor) -> Any:
        return self.source_embedding(source)


@transformer.mistake(
    "Your forward drops the last target token, so there is a row too few.",
    why="Shifting the target by one is the batch's work, in lesson 09. Done here as well, it is "
    "done twice.",
    hint="T target tokens go in. How many rows of logits shall come out?",
)
class ShiftsTheTarget(Transformer):
    def forward(self, source: Tensor, target: Tensor) -> Any:
        return self.decode(target[:, :-1], self.encode(source), source)


@transformer.mistake(
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


@transformer.mistake(
    "Your decode looks up the target's words in the source's table.",
    why="The two languages have vocabularies of their own. Some ids of one do not exist in the "
    "other; those that do mean other words.",
    hint="There are two embeddings. Which one has config.target_vocab rows?",
)
class SourceTableForTheTarget(_Variant):
    def embed(self, target: Tensor) -> Any:
        return self.source_embedding(target)


# --- 08.tie --------------------------------------------------------------------------------------


def _tables(model: Transformer) -> tuple[Tensor, Tensor, Tensor]:
    """The weights of both embeddings and of the output layer."""
    source, target = model.source_embedding.tokens, model.target_embedding.tokens
    return source.weight, target.weight, model.output.weight


def _use_tie(
    tie: Callable[[Transformer, str], Any],
    source: Tensor,
    target: Tensor,
    *,
    tying: str,
    config: Fields,
    weights: Mapping[str, Tensor],
) -> dict[str, Any]:
    """Tie an untied model with these weights, and see what it is before and after a step."""
    model = Transformer(TransformerConfig(**config))
    load_weights(model, weights)
    tie(model, tying)
    rows = [tuple(table.shape) for table in _tables(model)]
    of_source, of_target, of_output = _tables(model)
    found = {
        "shapes of the tables": rows,
        "logits": model(source, target).detach(),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "the output's table is the target's": of_output is of_target,
        "the source's table is the target's": of_source is of_target,
    }
    logits = model(source, target)
    weighting = torch.cos(torch.arange(logits.numel(), dtype=logits.dtype)).view(logits.shape)
    (0.1 * logits * weighting).sum().backward()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.add_(parameter.grad, alpha=-0.1)
    return {**found, "logits after a step": model(source, target).detach()}


def _tying(draw: Draw, tying: str, about: str, **more: Any) -> Call:
    same = {"source_vocab": 13} if tying == "all" else {}
    call = _call(draw, *_pair(draw, 2, 4, 3), about=about, **same, **more)
    return Call(call.args, {**call.kwargs, "tying": tying}, about=about)


def _tie(model: Transformer, tying: str) -> None:
    table = model.target_embedding.tokens.weight
    if tying in ("output", "all"):
        model.output.weight = table
    if tying == "all":
        model.source_embedding.tokens.weight = table


tie = Item(
    "08.tie",
    reference=_tie,
    use=_use_tie,
    tolerance=1e-4,
    probes=[
        Probe(
            "output: the output layer and the target's embedding become one table",
            lambda draw: [_tying(draw, "output", "tying is 'output'")],
        ),
        Probe(
            "all: the source's embedding joins them",
            lambda draw: [_tying(draw, "all", "tying is 'all'")],
        ),
        Probe(
            "none: all stay as they are",
            lambda draw: [_tying(draw, "none", "tying is 'none'")],
        ),
        Probe(
            "it works for a model without output bias, and in float64",
            lambda draw: [
                _tying(draw, "output", "no bias in the output layer", output_bias=False),
                _tying(draw, "all", "float64", dtype=torch.float64),
            ],
        ),
    ],
    hints=(
        "Equal numbers part at the first step of training. What cannot part?",
        "An nn.Embedding and an nn.Linear each have a weight, a Parameter of (rows, d_model). You "
        "may assign one module's Parameter to the other.",
        "model.output.weight = ..., for 'output' and for 'all'; and one line of the same kind for "
        "model.source_embedding.tokens.weight, for 'all'.",
    ),
)


@tie.mistake(
    "Your tables have equal numbers and are still two: after one step they differ.",
    why="Copied numbers are tied at the start, and then not. Each table gets its own gradient, and "
    "nothing is saved.",
    hint="Hand over the Parameter itself, not what is in it.",
)
def numbers_copied(model: Transformer, tying: str) -> None:
    of_source, of_target, of_output = _tables(model)
    if tying in ("output", "all"):
        of_output.data.copy_(of_target)
    if tying == "all":
        of_source.data.copy_(of_target)


@tie.mistake(
    "Your tables lie in the same memory, but they are still two parameters.",
    why="The optimiser sees two, and takes two steps in one place, each with a part of the "
    "gradient. And the count does not get smaller.",
    hint="Count the parameters before and after. Is the object the same, or only what it holds?",
)
def memory_shared(model: Transformer, tying: str) -> None:
    of_source, of_target, of_output = _tables(model)
    if tying in ("output", "all"):
        of_output.data = of_target.data
    if tying == "all":
        of_source.data = of_target.data


@tie.mistake(
    "You tied the right tables, and kept the output layer's numbers.",
    why="The task asks for those of the target's embedding. Which numbers stay is the only "
    "difference that the direction makes, and a trained embedding would be lost.",
    hint="What stands on the left of the = is what is given up.",
)
def output_kept(model: Transformer, tying: str) -> None:
    if tying in ("output", "all"):
        model.target_embedding.tokens.weight = model.output.weight
    if tying == "all":
        model.source_embedding.tokens.weight = model.output.weight


@tie.mistake(
    "For 'all' you forgot the source: its embedding is still a table of its own.",
    why="The paper shares one table among both embeddings and the output layer.",
    hint="'all' means three places.",
)
def source_forgotten(model: Transformer, tying: str) -> None:
    if tying in ("output", "all"):
        model.output.weight = model.target_embedding.tokens.weight


@tie.mistake(
    "You tie whatever tying says: 'none' and 'output' become 'all'.",
    why="With two languages and two vocabularies the tables do not even have the same rows.",
    hint="Does your code read its second argument?",
)
def always_all(model: Transformer, tying: str) -> None:
    _tie(model, "all")


@tie.mistake(
    "You tie the output layer even for 'none'.",
    why="Four of the five published systems tie nothing; a model with that config must keep all "
    "three tables.",
    hint="What does your code do when tying is 'none'?",
)
def output_always_tied(model: Transformer, tying: str) -> None:
    _tie(model, "output" if tying == "none" else tying)


@tie.mistake(
    "For 'output' you tied the two embeddings, and not the output layer.",
    why="'output' means: the output layer writes with the table that the target's embedding reads.",
    hint="Which module turns d_model numbers into a number for each target word?",
)
def embeddings_tied(model: Transformer, tying: str) -> None:
    if tying == "output":
        model.source_embedding.tokens.weight = model.target_embedding.tokens.weight
    else:
        _tie(model, tying)


# --- 08.count_parameters -------------------------------------------------------------------------


def _use_config(count: Callable[[TransformerConfig], Any], fields: Fields) -> Any:
    return count(TransformerConfig(**fields))


def _config(draw: Draw, about: str, **more: Any) -> Call:
    """Sizes that are all unlike, so that none can stand for another."""
    heads = draw.integer(2, 4)
    fields = {
        "source_vocab": draw.integer(50, 90),
        "target_vocab": draw.integer(100, 150),
        "d_model": 12 * heads,
        "d_ff": draw.integer(51, 99),
        "n_heads": heads,
        "n_layers": draw.integer(2, 6),
        "max_len": draw.integer(200, 300),
    }
    return Call(({**fields, **more},), about=about)


def _published(draw: Draw) -> list[Call]:
    known = ("naive_mt", "fastai_qa", "fastestimator_ted", "einsum_scratch", "wmt14_de_en")
    return [Call((dict(vars(PRESETS[name])),), about=f"the preset {name}") for name in known]


counting = Item(
    "08.count_parameters",
    reference=count_parameters,
    use=_use_config,
    tolerance=0.0,
    probes=[
        Probe(
            "matrices, biases and norms of the blocks are counted, and three tables",
            lambda draw: [_config(draw, "the usual options"), _config(draw, "other sizes")],
        ),
        Probe(
            "a shared table is counted once",
            lambda draw: [
                _config(draw, "tying is 'output'", tying="output"),
                _config(draw, "tying is 'all'", tying="all", source_vocab=70, target_vocab=70),
                _config(draw, "tied, no output bias", tying="output", output_bias=False),
            ],
        ),
        Probe(
            "what the config leaves out is left out",
            lambda draw: [
                _config(draw, "no bias in attention", attention_bias=False),
                _config(draw, "no bias in feed-forward", feed_forward_bias=False),
                _config(draw, "no bias in the output layer", output_bias=False),
                _config(draw, "norms without parameters", norm_affine=False, final_norm=True),
            ],
        ),
        Probe(
            "what the config adds is added",
            lambda draw: [
                _config(draw, "a last norm in each stack", norm="pre", final_norm=True),
                _config(draw, "learned positions", positions="learned"),
                _config(draw, "heads with a width of their own", d_head=7),
                _config(draw, "the same, no biases", d_head=20, attention_bias=False),
            ],
        ),
        Probe("the five published systems are counted to the last digit", _published),
        Probe(
            "models too large to build are counted, too",
            # so many words that no machine even tries to make room for them
            lambda draw: [
                _config(draw, "2⁴⁴ words on each side", source_vocab=2**44, target_vocab=2**44)
            ],
        ),
    ],
    hints=(
        "Count one attention, one feed-forward, one norm. Then: how many of each in an encoder "
        "block, in a decoder block?",
        "Write down the shapes. All heads together are n_heads · head_width wide: that is one side "
        "of all four matrices of an attention, and the length of three of its biases. A bias that "
        "is switched off counts 0; True and False are 1 and 0 in a product.",
        "As a rule attention is 4D² + 4D, feed-forward 2DF + F + D, norm 2D. Then n_layers * "
        "(... * attention + feed_forward + ... * norm) for each stack, and a last norm; and the "
        "tables: rows by tying, 2 * max_len more if learned, times D; the output's bias.",
    ),
)


def _of(config: TransformerConfig, kind: str, part: str) -> int:
    return parameter_parts(config).get(kind, {}).get(part, 0)


@counting.mistake(
    "You count a tied table at each place where it is used.",
    why="One table in three places is one table: it is stored, trained and counted once.",
    hint="How many tables are there for each value of tying?",
)
def tied_tables_twice(config: TransformerConfig) -> int:
    return count_parameters(replace(config, tying="none"))


@counting.mistake(
    "You count two attentions for each layer; encoder and decoder block together have three.",
    why="The decoder block reads itself and the memory, with matrices for each.",
    hint="List the sublayers of both blocks.",
)
def two_attentions_a_layer(config: TransformerConfig) -> int:
    return count_parameters(config) - _of(config, "attention", "cross")


@counting.mistake(
    "You count four norms for each layer; encoder and decoder block together have five.",
    why="Each sublayer has a frame of its own, and each frame a norm.",
    hint="How many sublayers has an encoder block, and how many a decoder block?",
)
def four_norms_a_layer(config: TransformerConfig) -> int:
    return count_parameters(config) - config.n_layers * 2 * config.d_model * config.norm_affine


@counting.mistake(
    "You count the attention's matrices once for each head.",
    why="Heads share out the columns of the same matrices: with D / H numbers each, H heads "
    "together have D.",
    hint="Double n_heads. What becomes larger, and what smaller?",
)
def matrices_for_each_head(config: TransformerConfig) -> int:
    attention = sum(parameter_parts(config)["attention"].values())
    return count_parameters(config) + (config.n_heads - 1) * attention


@counting.mistake(
    "You count no biases in the blocks.",
    why="Each of the projections and both feed-forward layers adds one, unless the config says "
    "otherwise. Few in number, but the count is meant to be exact.",
    hint="attention_bias and feed_forward_bias are True unless switched off.",
)
def no_biases(config: TransformerConfig) -> int:
    return count_parameters(replace(config, attention_bias=False, feed_forward_bias=False))


@counting.mistake(
    "You count all biases, even those that the config switches off.",
    why="One published system has none, and its count is 44,052,480 to the last digit.",
    hint="Three fields of the config end in _bias.",
)
def all_biases(config: TransformerConfig) -> int:
    return count_parameters(
        replace(config, attention_bias=True, feed_forward_bias=True, output_bias=True)
    )


@counting.mistake(
    "You do not count the output layer's bias.",
    why="It has one number for each target word, and stays when the table is tied.",
    hint="What is added to h Wᵀ to make logits?",
)
def output_bias_forgotten(config: TransformerConfig) -> int:
    return count_parameters(replace(config, output_bias=False))


@counting.mistake(
    "You count a scale and a shift in each norm, even with norm_affine=False.",
    why="Norms without parameters are how one published system lost 30,720 of them.",
    hint="Which field of the config says what a norm has to learn?",
)
def norms_always_learn(config: TransformerConfig) -> int:
    return count_parameters(replace(config, norm_affine=True))


@counting.mistake(
    "The last norm of each stack, final_norm, does not show in your count.",
    why="Two stacks, two norms, 2D each: PyTorch's nn.Transformer always has them, the paper's "
    "model never.",
    hint="What follows the last block if final_norm is True?",
)
def last_norms_forgotten(config: TransformerConfig) -> int:
    return count_parameters(replace(config, final_norm=False))


@counting.mistake(
    "You do not count learned positions.",
    why="Sines and cosines are computed, but a learned table of positions is made of parameters: "
    "max_len rows for each side.",
    hint="positions can be 'sinusoidal' or 'learned'.",
)
def learned_positions_forgotten(config: TransformerConfig) -> int:
    return count_parameters(replace(config, positions="sinusoidal"))


@counting.mistake(
    "You count learned positions once; each side has a table of its own.",
    why="Source and target may differ in what it means to stand third.",
    hint="How many embeddings does the model have?",
)
def positions_counted_once(config: TransformerConfig) -> int:
    return count_parameters(config) - _of(config, "embedding", "positions") // 2


@counting.mistake(
    "You count positions as parameters though they are sines and cosines.",
    why="What a formula gives is not trained, and not counted.",
    hint="positions can be 'sinusoidal' or 'learned'.",
)
def sines_counted(config: TransformerConfig) -> int:
    return count_parameters(replace(config, positions="learned"))


@counting.mistake(
    "You take all heads together to be D wide, even if d_head says otherwise.",
    why="With a width of their own, H heads have H · E columns: that is the width of three of the "
    "biases and one side of all four matrices.",
    hint="config.head_width is the width of one head, whatever d_head is.",
)
def width_of_heads_ignored(config: TransformerConfig) -> int:
    usual = replace(config, d_head=None)
    difference = sum(parameter_parts(config)["attention"].values())
    return count_parameters(config) - difference + sum(parameter_parts(usual)["attention"].values())


# --- 08.bug --------------------------------------------------------------------------------------

BUG = """\
class Stack(nn.Module):
    def __init__(self, block, config):
        super().__init__()
        self.layers = nn.ModuleList([block(config)] * config.n_layers)
        last = nn.LayerNorm(config.d_model)
        self.final_norm = last if config.final_norm else nn.Identity()

    def forward(self, x, *others):
        for layer in self.layers:
            x = layer(x, *others)
        return self.final_norm(x)
"""
BLOCKS: dict[str, Callable[[TransformerConfig], nn.Module]] = {
    "encoder": EncoderBlock,
    "decoder": DecoderBlock,
}


class _Stack(nn.Module):
    def __init__(
        self, block: Callable[[TransformerConfig], nn.Module], config: TransformerConfig
    ) -> None:
        super().__init__()
        self.layers = self.made(block, config)
        last = nn.LayerNorm(config.d_model)
        self.final_norm = last if config.final_norm else nn.Identity()

    def made(self, block: Callable[[TransformerConfig], nn.Module], c: TransformerConfig) -> Any:
        return nn.ModuleList(block(c) for _ in range(c.n_layers))

    def forward(self, x: Tensor, *others: Tensor) -> Any:
        for layer in self.layers:
            x = layer(x, *others)
        return self.final_norm(x)


def _use_stack(
    make: Callable[..., nn.Module], *inputs: Any, blocks: str, config: Fields, **more: Any
) -> Any:
    """Make a stack, and use it with given weights; without weights, see what it is like."""
    run: list[nn.Module] = []

    def block(config: TransformerConfig) -> nn.Module:
        made = BLOCKS[blocks](config)
        made.register_forward_hook(lambda module, args, output: run.append(module))
        return made

    def stack(config: Fields) -> nn.Module:
        return make(block, TransformerConfig(**config))

    if "weights" in more:
        return use_module(stack, *inputs, init={"config": config}, **more)
    fresh = stack(config)
    fresh(*inputs)
    named = dict(fresh.named_parameters())
    first = [weight for name, weight in named.items() if name.endswith("expand.weight")]
    return {
        "blocks that run": len(run),
        "parameters": sum(weight.numel() for weight in named.values()),
        "layers begin alike": any(
            torch.equal(a, b) for i, a in enumerate(first) for b in first[:i]
        ),
    }


def _stack(draw: Draw, blocks: str, *inputs: Any, about: str, **more: Any) -> Call:
    learns, gradients = more.pop("learns", False), more.pop("gradients", False)
    config = {**SMALL, **more}
    weights = draw.weights(_Stack(BLOCKS[blocks], TransformerConfig(**config)))
    kwargs = {"blocks": blocks, "config": config, "weights": weights, "learns": learns}
    return Call(inputs, kwargs, about, gradients)


def _fresh(draw: Draw) -> list[Call]:
    """Stacks with the weights that they are born with."""
    calls = []
    for kind, n in (("encoder", 3), ("decoder", 2), ("encoder", 1)):
        inputs = [draw.normal(2, 3, 8) for _ in range(1 + (kind == "decoder"))]
        kwargs = {"blocks": kind, "config": {**SMALL, "n_layers": n}}
        calls.append(Call(tuple(inputs), kwargs, f"{n} fresh {kind} blocks"))
    return calls


def _one_after_the_other(draw: Draw) -> list[Call]:
    mask = padding_mask(draw.tokens(2, 5), 0)
    sides = draw.normal(2, 4, 8), draw.normal(2, 5, 8), causal_mask(4), mask
    pre = {"norm": "pre", "final_norm": True, "n_layers": 2}
    return [
        _stack(draw, "encoder", draw.normal(2, 5, 8), mask, about="encoder blocks", n_layers=3),
        _stack(draw, "decoder", *sides, about="decoder blocks, all read the memory", n_layers=2),
        _stack(draw, "encoder", draw.normal(2, 3, 8), about="pre-norm and a last norm", **pre),
    ]


def _stack_learns(draw: Draw) -> list[Call]:
    x = draw.normal(2, 4, 8)
    return [
        _stack(draw, "encoder", x, about="the parameters' gradients", learns=True, n_layers=3),
        _stack(draw, "encoder", x, about="the input's gradient", gradients=True, n_layers=2),
    ]


bug = Item(
    "08.bug",
    reference=_Stack,
    use=_use_stack,
    tolerance=1e-4,
    bug=Bug(BUG, line=4),
    probes=[
        Probe("each layer has parameters of its own, and they begin unlike", _fresh),
        Probe("each block reads what the one before has left", _one_after_the_other),
        Probe("all layers learn", _stack_learns),
    ],
    hints=(
        "Make a stack of three, and count its parameters. How many blocks' worth are they?",
        "How often is block(config) called, for n_layers layers?",
        "In a list, [a] * 3 is three names for one a. Write it so that block(config) is called "
        "anew for each layer.",
    ),
)


@bug.mistake(
    "All layers are still one block: what one learns, all have learnt.",
    why="The model has as many layers as you asked for, and the parameters of one.",
    hint="How often is block(config) called?",
)
class OneBlockInAllPlaces(_Stack):
    def made(self, block: Callable[[TransformerConfig], nn.Module], c: TransformerConfig) -> Any:
        return nn.ModuleList([block(c)] * c.n_layers)


@bug.mistake(
    "Your layers lie where PyTorch does not find them, in a plain list or the like.",
    why="No error, no warning: the stack runs, but optimiser, .to(device) and state_dict miss "
    "every block.",
    hint="Only what is a module's own part is searched for parameters. A list is no module.",
)
class PlainList(_Stack):
    def made(self, block: Callable[[TransformerConfig], nn.Module], c: TransformerConfig) -> Any:
        return [block(c) for _ in range(c.n_layers)]


@bug.mistake(
    "Your layers are copies of one: they have their own parameters, and begin as twins.",
    why="A random start is there for variety. Twins drift apart in training, but they begin "
    "without it.",
    hint="A copy copies the numbers, too. Who draws new ones?",
)
class Twins(_Stack):
    def made(self, block: Callable[[TransformerConfig], nn.Module], c: TransformerConfig) -> Any:
        one = block(c)
        return nn.ModuleList(deepcopy(one) for _ in range(c.n_layers))


@bug.mistake(
    "Your stack has a single layer, whatever n_layers says.",
    why="No block stands in the list more than once now, but the other layers are gone as well.",
    hint="config.n_layers blocks are asked for.",
)
class SingleLayer(_Stack):
    def made(self, block: Callable[[TransformerConfig], nn.Module], c: TransformerConfig) -> Any:
        return nn.ModuleList([block(c)])
