"""Correct answers to the items of lesson 03, written in other ways: all must pass."""

import torch
from torch import nn
from torch.nn import functional as F


def norm_by_torch(x, weight, bias, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], weight, bias, eps)


def norm_by_einsum(x, weight, bias, eps=1e-5):
    centred = x - torch.einsum("...d->...", x)[..., None] / x.shape[-1]
    variance = torch.einsum("...d,...d->...", centred, centred) / x.shape[-1]
    return torch.addcmul(bias, centred * (variance + eps)[..., None] ** -0.5, weight)


def norm_by_loops(x, weight, bias, eps=1e-5):
    rows = []
    for row in x.reshape(-1, x.size(-1)):
        mean = sum(row) / len(row)
        variance = sum((number - mean) ** 2 for number in row) / len(row)
        std = (variance + eps).sqrt()
        rows.append(torch.stack([(number - mean) / std for number in row]))
    return torch.stack(rows).reshape(x.shape) * weight + bias


def norm_by_length(x, weight, bias, eps=1e-5):
    """A centred vector, scaled to norm √d_model."""
    d_model = x.size(-1)
    centred = x - x.mean(-1, keepdim=True)
    squared = centred.pow(2).sum(-1, keepdim=True) + d_model * eps
    return weight * (centred * d_model**0.5 / squared.sqrt()) + bias


class NetworkByFunctions(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.dropout = dropout
        self.expand = nn.Linear(in_features=d_model, out_features=d_ff, bias=True)
        self.contract = nn.Linear(in_features=d_ff, out_features=d_model, bias=True)

    def forward(self, x):
        hidden = F.dropout(self.expand(x), self.dropout, self.training)  # before the ReLU: the same
        return self.contract(torch.clamp(hidden, min=0))


class NetworkByEinsum(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.relu, self.drop = nn.ReLU(), nn.Dropout(p=dropout)

    def forward(self, x):
        pre_activation = torch.einsum("bsd,fd->bsf", x, self.expand.weight) + self.expand.bias
        hidden = self.drop(self.relu(pre_activation))
        return torch.einsum("bsf,df->bsd", hidden, self.contract.weight) + self.contract.bias


class NetworkByConvolution(nn.Module):
    """The paper's second description: two convolutions with kernel size 1."""

    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.contract, self.expand = nn.Linear(d_ff, d_model), nn.Linear(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        hidden = F.conv1d(x.transpose(1, 2), self.expand.weight[:, :, None], self.expand.bias)
        hidden = self.dropout(torch.where(hidden > 0, hidden, 0.0))
        return F.conv1d(hidden, self.contract.weight[:, :, None], self.contract.bias).mT


class NetworkPositionByPosition(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)
        self.share = dropout

    def forward(self, x):
        return torch.stack([self.one(x[:, s]) for s in range(x.size(1))], dim=1)

    def one(self, x):
        hidden = torch.relu(self.expand(x))
        if self.training:
            hidden = hidden * torch.empty_like(hidden).bernoulli_(1 - self.share) / (1 - self.share)
        return self.contract(hidden)


class AddNormByFunctions(nn.Module):
    def __init__(self, d_model, dropout=0.1):
        super().__init__()
        self.norm = nn.LayerNorm((d_model,))
        self.p = dropout

    def forward(self, x, sublayer):
        update = F.dropout(sublayer(x), p=self.p, training=self.training)
        return F.layer_norm(torch.add(x, update), x.shape[-1:], self.norm.weight, self.norm.bias)


class NormByHand(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.weight, self.bias = (
            nn.Parameter(torch.ones(d_model)),
            nn.Parameter(torch.zeros(d_model)),
        )

    def forward(self, x):
        return norm_by_einsum(x, self.weight, self.bias)


class AddNormByHand(nn.Module):
    def __init__(self, d_model, dropout=0.1):
        super().__init__()
        self.norm, self.dropout = NormByHand(d_model), nn.Dropout(dropout)

    def forward(self, x, sublayer):
        residual = x
        x = self.dropout(sublayer(x))
        x = x + residual
        return self.norm(x)


class AddNormWithItsOwnMask(nn.Module):
    def __init__(self, d_model, dropout=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.share = dropout

    def forward(self, x, sublayer):
        update = sublayer(x.clone())
        if self.training:
            update = (torch.rand_like(update) >= self.share) * update / (1 - self.share)
        total = torch.stack((x, update)).sum(0)
        return self.norm(total)


def block_fixed(x, attention, feed_forward, norm_1, norm_2):
    middle = norm_1(x + attention(x))
    return norm_2(middle + feed_forward(middle))


def block_reusing_x(x, attention, feed_forward, norm_1, norm_2):
    x = norm_1(x + attention(x))
    return norm_2(x + feed_forward(x))


def block_by_a_loop(x, attention, feed_forward, norm_1, norm_2):
    for sublayer, norm in ((attention, norm_1), (feed_forward, norm_2)):
        before = x
        x = norm(torch.add(before, sublayer(before)))
    return x


ALTERNATIVES = {
    "03.layer_norm": (norm_by_torch, norm_by_einsum, norm_by_loops, norm_by_length),
    "03.feed_forward": (
        NetworkByFunctions,
        NetworkByEinsum,
        NetworkByConvolution,
        NetworkPositionByPosition,
    ),
    "03.add_norm": (AddNormByFunctions, AddNormByHand, AddNormWithItsOwnMask),
    "03.bug": (block_fixed, block_reusing_x, block_by_a_loop),
}
