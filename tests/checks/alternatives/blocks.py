"""Correct answers to the items of lesson 07, written in other ways: all must pass."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.model import (
    FeedForward,
    MultiHeadAttention,
    attention_einsum,
    masked_softmax,
)


class WithTheConstructor(nn.Module):
    """The constructor that the exercise provides: two sublayers, two norms, one dropout."""

    def __init__(self, d_model, n_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff, 0.0)
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)


class EncoderByHelper(WithTheConstructor):
    """Norm and residual connection in one method, used twice."""

    def residual(self, x, norm, sublayer):
        return norm(x + self.dropout(sublayer(x)))

    def forward(self, x, mask=None):
        x = self.residual(x, self.norm_1, lambda y: self.self_attention(y, y, y, mask))
        return self.residual(x, self.norm_2, self.feed_forward)


def attention_by_hand(part, query, memory, mask, heads):
    """With einsum and the part's own weights."""
    q, k, v = (
        torch.einsum("bsd,ed->bse", x, proj.weight).add(proj.bias).unflatten(-1, (heads, -1))
        for x, proj in ((query, part.q_proj), (memory, part.k_proj), (memory, part.v_proj))
    )
    scores = torch.einsum("bqhe,bkhe->bhqk", q, k) / math.sqrt(q.size(-1))
    weights = masked_softmax(scores, mask)
    context = torch.einsum("bhqk,bkhe->bqhe", weights, v).reshape(query.shape)
    return context @ part.out_proj.weight.T + part.out_proj.bias


def norm_by_hand(part, x):
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return centred * (variance + part.eps).rsqrt() * part.weight + part.bias


def feed_forward_by_hand(part, x):
    hidden = F.linear(x, part.expand.weight, part.expand.bias).clamp(min=0)
    return F.linear(hidden, part.contract.weight, part.contract.bias)


class EncoderByHand(WithTheConstructor):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1):
        super().__init__(d_model, n_heads, d_ff, dropout)
        self.heads, self.rate = n_heads, dropout

    def drop(self, x):
        return F.dropout(x, self.rate, self.training)

    def forward(self, x, mask=None):
        attended = attention_by_hand(self.self_attention, x, x, mask, self.heads)
        x = norm_by_hand(self.norm_1, self.drop(attended) + x)
        return norm_by_hand(self.norm_2, self.drop(feed_forward_by_hand(self.feed_forward, x)) + x)


class EncoderSentenceBySentence(WithTheConstructor):
    """Each sentence on its own, or in four groups if there is no mask."""

    def forward(self, x, mask=None):
        if mask is None:
            return torch.cat([self.some(part, None) for part in x.split(max(1, len(x) // 4))])
        masks = mask.expand(len(x), *mask.shape[1:])
        pairs = zip(x, masks, strict=True)
        return torch.stack([self.some(one[None], its[None])[0] for one, its in pairs])

    def some(self, x, mask):
        x = x + self.dropout(self.self_attention(query=x, key=x, value=x, mask=mask))
        x = self.norm_1(x)
        update = self.feed_forward(x.clone())
        return self.norm_2(x + self.dropout(update))


class PreNormByHelper(WithTheConstructor):
    def residual(self, x, norm, sublayer):
        return x + self.dropout(sublayer(norm(x)))

    def forward(self, x, mask=None):
        x = self.residual(x, self.norm_1, lambda y: self.self_attention(y, y, y, mask))
        return self.residual(x, self.norm_2, self.feed_forward)


class PreNormByHand(EncoderByHand):
    def forward(self, x, mask=None):
        y = norm_by_hand(self.norm_1, x)
        x = self.drop(attention_by_hand(self.self_attention, y, y, mask, self.heads)) + x
        y = norm_by_hand(self.norm_2, x)
        return self.drop(feed_forward_by_hand(self.feed_forward, y)) + x


class PreNormAsASum(WithTheConstructor):
    """The residual stream as a sum of three terms."""

    def forward(self, x, mask=None):
        terms = [x]
        y = self.norm_1(sum(terms))
        terms.append(self.dropout(self.self_attention(y, y, y, mask)))
        terms.append(self.dropout(self.feed_forward(self.norm_2(sum(terms)))))
        return torch.stack(terms).sum(0)


class DecoderByALoop(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1):
        super().__init__()
        self.rate = dropout
        for name in ("self_attention", "cross_attention"):
            setattr(self, name, MultiHeadAttention(d_model, n_heads))
        self.feed_forward = FeedForward(d_model, d_ff, dropout=0.0)
        for i in (1, 2, 3):
            self.add_module(f"norm_{i}", nn.LayerNorm(d_model))

    def forward(self, x, memory, target_mask=None, memory_mask=None):
        sublayers = (
            lambda x: self.self_attention(x, x, x, target_mask),
            lambda x: self.cross_attention(x, memory, memory, memory_mask),
            self.feed_forward,
        )
        for i, sublayer in enumerate(sublayers, 1):
            x = getattr(self, f"norm_{i}")(x + F.dropout(sublayer(x), self.rate, self.training))
        return x


class DecoderByHand(nn.Module):
    """The norms created before the sublayers, three dropout layers, all arithmetic by hand."""

    def __init__(self, d_model, n_heads, d_ff, dropout=0.1):
        super().__init__()
        self.heads = n_heads
        self.norm_3, self.norm_2, self.norm_1 = (nn.LayerNorm(d_model) for _ in range(3))
        self.feed_forward = FeedForward(d_model, d_ff, 0.0)
        self.cross_attention = MultiHeadAttention(d_model, n_heads, attention=attention_einsum)
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.drops = nn.ModuleList(nn.Dropout(dropout) for _ in range(3))

    def forward(self, x, memory, target_mask=None, memory_mask=None):
        attended = attention_by_hand(self.self_attention, x, x, target_mask, self.heads)
        x = norm_by_hand(self.norm_1, x + self.drops[0](attended))
        attended = attention_by_hand(self.cross_attention, x, memory, memory_mask, self.heads)
        x = norm_by_hand(self.norm_2, x + self.drops[1](attended))
        update = feed_forward_by_hand(self.feed_forward, x)
        return norm_by_hand(self.norm_3, x + self.drops[2](update))


class DecoderOnAnEncoder(WithTheConstructor):
    """An encoder block with cross-attention added."""

    def __init__(self, d_model, n_heads, d_ff, dropout=0.1):
        super().__init__(d_model, n_heads, d_ff, dropout)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.norm_3 = nn.LayerNorm(d_model)

    def forward(self, x, memory, target_mask=None, memory_mask=None):
        x = self.norm_1(x.add(self.dropout(self.self_attention(x, x, x, target_mask))))
        crossed = self.cross_attention(query=x, key=memory, value=memory, mask=memory_mask)
        x = self.norm_2(self.dropout(crossed).add(x))
        return self.norm_3(self.dropout(self.feed_forward(x)).add(x))


def bug_as_a_sum(block, x, memory, target_mask, memory_mask):
    y = block.norm_1(x)
    x1 = x + block.self_attention(y, y, y, target_mask)
    x2 = x1 + block.cross_attention(block.norm_2(x1), memory, memory, memory_mask)
    return x2 + block.feed_forward(block.norm_3(x2))


def bug_in_a_loop(block, x, memory, target_mask, memory_mask):
    steps = (
        (block.norm_1, lambda y: block.self_attention(y, y, y, target_mask)),
        (block.norm_2, lambda y: block.cross_attention(y, memory, memory, memory_mask)),
        (block.norm_3, block.feed_forward),
    )
    for norm, sublayer in steps:
        x = x + sublayer(norm(x))
    return x


def bug_by_hand(block, x, memory, target_mask, memory_mask):
    heads = block.self_attention.n_heads
    y = norm_by_hand(block.norm_1, x)
    x = x + attention_by_hand(block.self_attention, y, y, target_mask, heads)
    y = norm_by_hand(block.norm_2, x)
    x = x + attention_by_hand(block.cross_attention, y, memory, memory_mask, heads)
    return x + feed_forward_by_hand(block.feed_forward, norm_by_hand(block.norm_3, x))


ALTERNATIVES = {
    "07.encoder_block": (EncoderByHelper, EncoderByHand, EncoderSentenceBySentence),
    "07.decoder_block": (DecoderByALoop, DecoderByHand, DecoderOnAnEncoder),
    "07.pre_norm_encoder_block": (PreNormByHelper, PreNormByHand, PreNormAsASum),
    "07.bug": (bug_as_a_sum, bug_in_a_loop, bug_by_hand),
}
