"""Correct solutions to the items of lesson 08, written differently: all must pass."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.model import (
    Decoder,
    DecoderBlock,
    Encoder,
    EncoderBlock,
    Transformer,
    TransformerEmbedding,
    causal_mask,
    parameter_parts,
)


class StackByHand(nn.Module):
    def __init__(self, block, config):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(config.n_layers):
            self.layers.append(block(config))
        self.final_norm = nn.LayerNorm(config.d_model) if config.final_norm else nn.Identity()

    def forward(self, x, *others):
        for layer in self.layers:
            x = layer(x, *others)
        return self.final_norm(x)


class TransformerOfStacks(nn.Module):
    """Its own stacks, and the modules made in another order."""

    def __init__(self, config):
        super().__init__()
        c = config
        self.pad = c.pad_id
        self.output = nn.Linear(in_features=c.d_model, out_features=c.target_vocab)
        self.decoder = StackByHand(DecoderBlock, c)
        self.encoder = StackByHand(EncoderBlock, c)
        self.target_embedding = TransformerEmbedding(
            c.target_vocab, c.d_model, c.pad_id, c.target_embedding_dropout
        )
        self.source_embedding = TransformerEmbedding(
            c.source_vocab, c.d_model, c.pad_id, c.source_embedding_dropout
        )

    def real(self, tokens):
        return tokens.ne(self.pad)[:, None, None]

    def encode(self, source):
        return self.encoder(self.source_embedding(source), self.real(source))

    def decode(self, target, memory, source):
        target_mask = self.real(target) & causal_mask(target.size(1))
        x = self.target_embedding(target)
        return self.output(self.decoder(x, memory, target_mask, self.real(source)))

    def forward(self, source, target):
        memory = self.encode(source)
        return self.decode(target, memory, source)


class TransformerWithLoops(nn.Module):
    """Masks by loops over tokens, and the output layer as an einsum."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        for side in ("source", "target"):
            vocab = getattr(config, f"{side}_vocab")
            rate = getattr(config, f"{side}_embedding_dropout")
            embedding = TransformerEmbedding(vocab, config.d_model, config.pad_id, rate)
            self.add_module(f"{side}_embedding", embedding)
        self.encoder, self.decoder = Encoder(config), Decoder(config)
        self.output = nn.Linear(config.d_model, config.target_vocab)

    def mask(self, tokens, *, causal=False):
        real_tokens = (tokens != self.config.pad_id).tolist()
        length = len(real_tokens[0])
        queries = range(length) if causal else [length]
        return torch.tensor(
            [
                [[[real and key <= query for key, real in enumerate(row)] for query in queries]]
                for row in real_tokens
            ]
        )

    def encode(self, source):
        return self.encoder(self.source_embedding(source), mask=self.mask(source))

    def decode(self, target, memory, source):
        x = self.decoder(
            x=self.target_embedding(target),
            memory=memory,
            target_mask=self.mask(target, causal=True),
            memory_mask=self.mask(source),
        )
        return torch.einsum("btd,vd->btv", x, self.output.weight) + self.output.bias

    def forward(self, source, target):
        if len(source) > 100:
            return self.decode(target, self.encode(source), source)
        rows = zip(source.split(1), target.split(1), strict=True)
        return torch.cat([self.decode(t, self.encode(s), s) for s, t in rows])


class TransformerWithoutDecode(TransformerOfStacks):
    """forward does it all, layer by layer."""

    def forward(self, source, target):
        x, y = self.source_embedding(source), self.target_embedding(target)
        memory_mask = self.real(source)
        target_mask = self.real(target).logical_and(causal_mask(target.size(1)))
        for block in self.encoder.layers:
            x = block(x, memory_mask)
        x = self.encoder.final_norm(x)
        for block in self.decoder.layers:
            y = block(y, x, target_mask, memory_mask)
        return F.linear(self.decoder.final_norm(y), self.output.weight, self.output.bias)


def tie_by_setattr(model, tying):
    tied = {"none": [], "output": [model.output]}
    tied["all"] = [model.output, model.source_embedding.tokens]
    for module in tied[tying]:
        setattr(module, "weight", model.target_embedding.tokens.weight)  # noqa: B010


def tie_by_registering(model, tying):
    if tying == "none":
        return
    table = model.target_embedding.tokens.weight
    del model.output.weight
    model.output.register_parameter("weight", table)
    if tying == "all":
        del model.source_embedding.tokens.weight
        model.source_embedding.tokens.register_parameter("weight", table)


def tie_by_new_modules(model, tying):
    """Other modules around the same table, and the bias as it was."""
    table, bias = model.target_embedding.tokens.weight, model.output.bias
    if tying != "none":
        model.output = nn.Linear(table.size(1), table.size(0), bias=False)
        model.output.weight, model.output.bias = table, bias
    if tying == "all":
        model.source_embedding.tokens = nn.Embedding.from_pretrained(table, freeze=False)
        model.source_embedding.tokens.weight = table
    return model


def count_by_shapes(config):
    """All shapes in a list."""
    c, heads = config, config.n_heads * config.resolved_d_head

    def product(*shape):
        total = 1
        for n in shape:
            total *= n
        return total

    def linear(n_in, n_out, bias):
        return [(n_out, n_in)] + [(n_out,)] * bias

    attention = 3 * linear(c.d_model, heads, c.attention_bias)
    attention += linear(heads, c.d_model, c.attention_bias)
    feed_forward = linear(c.d_model, c.d_ff, c.feed_forward_bias)
    feed_forward += linear(c.d_ff, c.d_model, c.feed_forward_bias)
    norm = [(c.d_model,)] * 2 * c.norm_affine
    shapes = c.n_layers * (attention + feed_forward + 2 * norm)
    shapes += c.n_layers * (2 * attention + feed_forward + 3 * norm)
    shapes += 2 * c.final_norm * norm
    shapes += [(c.target_vocab, c.d_model)]
    shapes += [(c.source_vocab, c.d_model)] * (c.tying != "all")
    shapes += [(c.target_vocab, c.d_model)] * (c.tying == "none")
    shapes += [(c.target_vocab,)] * c.output_bias
    shapes += [(c.max_len, c.d_model)] * 2 * (c.positions == "learned")
    return sum(product(*shape) for shape in shapes)


def count_by_parts(config):
    return sum(n for parts in parameter_parts(config).values() for n in parts.values())


def count_with_ifs(config):
    c = config
    width = c.n_heads * (c.d_head if c.d_head is not None else c.d_model // c.n_heads)
    attention = 4 * c.d_model * width
    if c.attention_bias:
        attention += 3 * width + c.d_model
    feed_forward = 2 * c.d_model * c.d_ff
    if c.feed_forward_bias:
        feed_forward += c.d_ff + c.d_model
    total = 3 * c.n_layers * attention + 2 * c.n_layers * feed_forward
    if c.norm_affine:
        total += (5 * c.n_layers + (2 if c.final_norm else 0)) * 2 * c.d_model
    tables = c.target_vocab
    if c.tying != "all":
        tables += c.source_vocab
    if c.tying == "none":
        tables += c.target_vocab
    total += tables * c.d_model
    if c.output_bias:
        total += c.target_vocab
    if c.positions == "learned":
        for _side in ("source", "target"):
            total += c.max_len * c.d_model
    return total


def count_on_meta(config):
    """The model is built after all, on the meta device, where tensors hold no values."""
    if config.n_layers * config.d_model > 1e6:
        return count_with_ifs(config)
    with torch.device("meta"):
        return torch.tensor(sum(p.numel() for p in Transformer(config).parameters()), device="cpu")


class StackOfDictionary(nn.Module):
    """Layers by name, read in order."""

    def __init__(self, block, config):
        super().__init__()
        self.layers = nn.Module()
        for i in range(config.n_layers):
            self.layers.add_module(str(i), block(config))
        self.final_norm = nn.LayerNorm(config.d_model) if config.final_norm else nn.Identity()

    def forward(self, x, *others):
        for _, layer in self.layers.named_children():
            x = layer(x, *others)
        return self.final_norm(x)


class StackOfRedrawnCopies(nn.Module):
    """Copies of one, each with weights drawn anew."""

    def __init__(self, block, config):
        super().__init__()
        layers = [copy.deepcopy(block(config)) for _ in range(config.n_layers)]
        for layer in layers:
            for part in layer.modules():
                if isinstance(part, nn.Linear):
                    part.reset_parameters()
        self.layers = nn.Sequential(*layers)
        self.final_norm = nn.LayerNorm(config.d_model) if config.final_norm else None

    def forward(self, x, *others):
        for i in range(len(self.layers)):
            x = self.layers[i](x, *others)
        return x if self.final_norm is None else self.final_norm(x)


ALTERNATIVES = {
    "08.transformer": (TransformerOfStacks, TransformerWithLoops, TransformerWithoutDecode),
    "08.tie": (tie_by_setattr, tie_by_registering, tie_by_new_modules),
    "08.count_parameters": (count_by_shapes, count_by_parts, count_with_ifs, count_on_meta),
    "08.bug": (StackByHand, StackOfDictionary, StackOfRedrawnCopies),
}
