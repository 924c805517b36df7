"""Correct answers to the items of lesson 01, written in other ways: all must pass."""

import math

import torch
from torch import nn
from torch.nn import functional as F


def positions_by_loops(length, d_model):
    table = torch.zeros(length, d_model)
    for position in range(length):
        for pair in range(d_model // 2):
            angle = position / 10_000 ** (2 * pair / d_model)
            table[position, 2 * pair] = math.sin(angle)
            table[position, 2 * pair + 1] = math.cos(angle)
    return table


def positions_by_slices(length, d_model):
    positions = torch.arange(0, length).unsqueeze(1)
    frequencies = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10_000.0) / d_model))
    table = torch.zeros(length, d_model)
    table[:, 0::2] = torch.sin(positions * frequencies)
    table[:, 1::2] = torch.cos(positions * frequencies)
    return table


def positions_by_complex_numbers(length, d_model):
    frequencies = 10_000 ** (-2 * torch.arange(d_model // 2) / d_model)
    angles = torch.einsum("s,c->sc", torch.arange(length).float(), frequencies)
    pairs = torch.polar(torch.ones_like(angles), math.pi / 2 - angles)  # real part: sin(angle)
    return torch.view_as_real(pairs).reshape(length, d_model)


def positions_by_phase_shift(length, d_model):
    column = torch.arange(d_model)
    angles = torch.arange(length)[:, None] / 10_000 ** ((column - column % 2) / d_model)
    return torch.sin(angles + (column % 2) * math.pi / 2)


class EncodingByBuffer(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.register_buffer("pe", positions_by_slices(max_len, d_model)[None])  # saved as well
        self.drop = nn.Dropout(p=dropout)

    def forward(self, x):
        _, length, _ = x.shape
        return self.drop(x + self.pe[:, :length, :])


class EncodingByComputing(nn.Module):
    """Computes the encodings in every call: there is no table to move."""

    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.d_model, self.p = d_model, dropout

    def forward(self, x):
        encodings = positions_by_complex_numbers(x.shape[1], self.d_model).to(x)
        return F.dropout(x + encodings.expand_as(x), self.p, self.training)


class EncodingByLookup(nn.Module):
    """A plain tensor, converted to the dtype and device of x in every call."""

    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.encodings = positions_by_phase_shift(max_len, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        positions = torch.arange(x.size(-2)).expand(x.size(0), -1)
        encodings = F.embedding(positions, self.encodings).to(device=x.device, dtype=x.dtype)
        return self.dropout(torch.add(x, encodings))


class EncodingWithItsOwnDropout(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.register_buffer("table", positions_by_slices(max_len, d_model), persistent=False)
        self.share = dropout

    def forward(self, x):
        x = x + self.table[torch.arange(x.size(1))]
        if not self.training:
            return x
        kept = torch.rand(x.shape) >= self.share
        return x * kept / (1 - self.share)


def _frequencies(d_model):
    return [10_000 ** (-2 * pair / d_model) for pair in range(d_model // 2)]


def shift_by_filling(d_model, offset):
    matrix = torch.zeros(d_model, d_model)
    for pair, frequency in enumerate(_frequencies(d_model)):
        c, s = math.cos(offset * frequency), math.sin(offset * frequency)
        at = 2 * pair
        matrix[at, at], matrix[at, at + 1] = c, s
        matrix[at + 1, at], matrix[at + 1, at + 1] = -s, c
    return matrix


def shift_by_exponential(d_model, offset):
    """A rotation is the matrix exponential of its angle times a generator."""
    generator = torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    frequencies = torch.tensor(_frequencies(d_model), dtype=torch.float64)
    return torch.linalg.matrix_exp(offset * torch.kron(torch.diag(frequencies), generator)).float()


def shift_by_diagonals(d_model, offset):
    angles = offset * torch.tensor(_frequencies(d_model))
    sines = torch.stack((angles.sin(), torch.zeros_like(angles)), dim=1).flatten()[:-1]
    cosines = angles.cos().repeat_interleave(2)
    return torch.diag(cosines) + torch.diag(sines, 1) - torch.diag(sines, -1)


def shift_by_powers(d_model, offset):
    """A shift by k is k shifts by one; a shift back is the transpose."""
    step = shift_by_filling(d_model, 1).double()
    matrix = torch.linalg.matrix_power(step, abs(offset)).float()
    return matrix if offset >= 0 else matrix.T


def concatenated_by_loops(length, d_model):
    rows = [
        [math.sin(p * w) for w in _frequencies(d_model)]
        + [math.cos(p * w) for w in _frequencies(d_model)]
        for p in range(length)
    ]
    return torch.tensor(rows)


def concatenated_by_reordering(length, d_model):
    table = positions_by_slices(length, d_model)
    return torch.hstack((table[:, ::2], table[:, 1::2]))


def concatenated_fixed(length, d_model):
    positions = torch.arange(length, dtype=torch.float32)
    frequencies = 1 / 10_000 ** (torch.arange(0, d_model, 2, dtype=torch.float32) / d_model)
    angles = torch.outer(positions, frequencies)
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


ALTERNATIVES = {
    "01.sinusoidal_positions": (
        positions_by_loops,
        positions_by_slices,
        positions_by_complex_numbers,
        positions_by_phase_shift,
    ),
    "01.positional_encoding": (
        EncodingByBuffer,
        EncodingByComputing,
        EncodingByLookup,
        EncodingWithItsOwnDropout,
    ),
    "01.shift_matrix": (
        shift_by_filling,
        shift_by_exponential,
        shift_by_diagonals,
        shift_by_powers,
    ),
    "01.bug": (concatenated_by_loops, concatenated_by_reordering, concatenated_fixed),
}
