"""Correct answers to the items of lesson 02, written in other ways: all must pass."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.model import PositionalEncoding, sinusoidal_positions


class EmbeddingByLoops(nn.Module):
    """Counts positions in a loop."""

    def __init__(self, vocab_size, d_model, pad_id=0, dropout=0.1):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.pad_id, self.d_model, self.p = pad_id, d_model, dropout

    def forward(self, tokens):
        encodings = sinusoidal_positions(tokens.size(1), self.d_model)
        sentences = []
        for row in tokens:
            position, vectors = 0, []
            for token in row:
                embedded = self.tokens.weight[token] * self.d_model**0.5
                vectors.append(embedded + encodings[position])
                position += int(token != self.pad_id)
            sentences.append(torch.stack(vectors))
        return F.dropout(torch.stack(sentences), self.p, self.training)


class EmbeddingByOneHot(nn.Module):
    """Both look-ups as products with one-hot vectors."""

    def __init__(self, vocab_size, d_model, pad_id=0, dropout=0.1):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.register_buffer("encodings", sinusoidal_positions(200, d_model))
        self.dropout = nn.Dropout(dropout)
        self.pad_id = pad_id

    def forward(self, tokens):
        table = self.tokens.weight
        one_hot = F.one_hot(tokens, len(table)).to(table.dtype)
        embedded = math.sqrt(table.size(-1)) * torch.einsum("bsv,vd->bsd", one_hot, table)
        real = tokens.ne(self.pad_id).long()
        positions = torch.cumsum(real, 1) - real  # number of real tokens before it
        return self.dropout(
            embedded
            + torch.einsum("bsp,pd->bsd", F.one_hot(positions, 200).float(), self.encodings)
        )


class EmbeddingByPositionalEncoding(nn.Module):
    """With padding_idx, and the library's module for the positions."""

    def __init__(self, vocab_size, d_model, pad_id=0, dropout=0.1):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model, padding_idx=pad_id)
        self.positions = PositionalEncoding(d_model, dropout)
        self.scale, self.pad_id = torch.tensor(float(d_model)).sqrt(), pad_id

    def forward(self, tokens):
        n_padding_before = (tokens == self.pad_id).cumsum(1)
        positions = (torch.arange(tokens.shape[1]) - n_padding_before).clamp_min(0)
        return self.positions(self.scale * self.tokens(tokens), positions)


class EmbeddingByRolling(nn.Module):
    """Shifts the encodings to where each sentence starts."""

    def __init__(self, vocab_size, d_model, pad_id=0, dropout=0.1):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.dropout = nn.Dropout(dropout)
        self.pad_id = pad_id

    def forward(self, tokens):
        embedded = self.tokens(tokens).mul(self.tokens.embedding_dim**0.5)
        encodings = sinusoidal_positions(tokens.size(1), embedded.size(2))
        first = [int((row != self.pad_id).nonzero()[0]) for row in tokens]
        return self.dropout(
            embedded + torch.stack([encodings.roll(start, dims=0) for start in first])
        )


def std_by_solving(d_model):
    wanted = 0.02  # nats: s² · D / 2 = wanted
    return (2 * wanted / d_model) ** 0.5


def std_as_a_tensor(d_model):
    return torch.tensor(0.2) * torch.rsqrt(torch.tensor(float(d_model)))


def std_by_bisection(d_model):
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if middle**2 * d_model / 2 < 0.02:
            low = middle
        else:
            high = middle
    return low


def ends_by_linear_layers(tokens, hidden, table, encodings):
    embedded = F.embedding(tokens, table).mul(table.shape[1] ** 0.5)
    return embedded + encodings[None, : tokens.shape[1]], F.linear(hidden, table)


def ends_by_einsum(tokens, hidden, table, encodings):
    one_hot = F.one_hot(tokens, table.size(0)).to(table.dtype)
    embedded = torch.einsum("bsv,vd->bsd", one_hot, table) * math.sqrt(encodings.size(1))
    return [
        embedded + encodings.narrow(0, 0, tokens.size(1)),
        torch.einsum("bsd,vd->bsv", hidden, table),
    ]


def ends_by_loops(tokens, hidden, table, encodings):
    scale = table.size(1) ** 0.5
    vectors = torch.stack(
        [
            torch.stack([table[t] * scale + encodings[s] for s, t in enumerate(row)])
            for row in tokens
        ]
    )
    logits = torch.stack([(hidden * row).sum(-1) for row in table], dim=-1)
    return vectors, logits


ALTERNATIVES = {
    "02.transformer_embedding": (
        EmbeddingByLoops,
        EmbeddingByOneHot,
        EmbeddingByPositionalEncoding,
        EmbeddingByRolling,
    ),
    "02.embedding_std": (std_by_solving, std_as_a_tensor, std_by_bisection),
    "02.bug": (ends_by_linear_layers, ends_by_einsum, ends_by_loops),
}
