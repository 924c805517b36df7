"""Answers as a learner writes them from the text of a variant, without the course's translation."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_lib.checks import check
from course_lib.model import FeedForward, MultiHeadAttention, merge_heads, split_heads


def encoding(length, d_model):
    """The cosine first, the lowest frequency first, concatenated."""
    frequencies = 10_000 ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model).flip(0)
    angles = torch.arange(length)[:, None] * frequencies
    return torch.cat((angles.cos(), angles.sin()), dim=-1).float()


class Encoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.register_buffer("table", encoding(max_len, d_model), persistent=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(x + self.table[: x.size(1)])


def layer_norm(x, weight, bias, eps=1e-5):
    """Weight from one, bias subtracted, vectors first."""
    centred = x - x.mean(dim=0, keepdim=True)
    normal = centred / torch.sqrt(centred.square().mean(dim=0, keepdim=True) + eps)
    shape = (-1, *[1] * (x.ndim - 1))
    return normal * (1 + weight).view(shape) - bias.view(shape)


class Network(nn.Module):
    """Layers up and down, features second."""

    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.down(self.dropout(torch.relu(self.up(x.mT)))).mT


def attention(query, key, value, mask=None):
    """1 hides, weights first, positions before heads."""
    scores = torch.einsum("bqhe,bkhe->bhqk", query, key) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 1, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-1)
    return weights, torch.einsum("bhqk,bkhe->bqhe", weights, value)


def einsum_attention(query, key, value, mask=None):
    """True hides, keys then queries, all axes reversed: (e, q, h, b) to (q, k, h, b)."""
    scores = torch.einsum("eqhb,ekhb->qkhb", query, key) / math.sqrt(query.size(0))
    if mask is not None:
        scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=1)
    return torch.einsum("qkhb,ekhb->eqhb", weights, value), weights


def masked_softmax(scores, mask=None):
    """0 hides, in columns of queries."""
    if mask is None:
        return scores.softmax(dim=-2)
    low = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
    return low.softmax(dim=-2).masked_fill(mask == 0, 0.0)


class Block(nn.Module):
    """True hides, batch third."""

    def __init__(self, d_model, n_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff, 0.0)
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        x, mask = x.permute(2, 0, 1), None if mask is None else ~mask
        x = self.norm_1(x + self.dropout(self.self_attention(x, x, x, mask)))
        return self.norm_2(x + self.dropout(self.feed_forward(x))).permute(1, 2, 0)


def tie(model, tying):
    if tying in ("output", "output+source"):
        model.output.weight = model.target_embedding.tokens.weight
    if tying == "output+source":
        model.source_embedding.tokens.weight = model.target_embedding.tokens.weight


def collate(pairs, pad_id, pad_left=False):
    """A dict, positions first."""

    def side(rows):
        longest = max(map(len, rows))
        fill = [[pad_id] * (longest - len(row)) for row in rows]
        both = zip(fill, rows, strict=True)
        return torch.tensor([f + row if pad_left else row + f for f, row in both]).T

    return {"source": side([p.source for p in pairs]), "target": side([p.target for p in pairs])}


def bucket(lengths, max_tokens):
    """From 1, the longest batch first, and in it the longest sentence."""
    batches = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batches and (len(batches[-1]) + 1) * lengths[i] <= max_tokens:
            batches[-1].append(i)
        else:
            batches.append([i])
    return [[i + 1 for i in reversed(batch)] for batch in reversed(batches)]


def masked_cross_entropy(logits, labels, pad_id):
    """Bits, summed, the vocabulary first."""
    log_p = logits.movedim(0, -1).log_softmax(dim=-1)
    cost = -log_p.gather(-1, labels[..., None])[..., 0] / math.log(2)
    return cost.masked_fill(labels == pad_id, 0.0).sum()


def rate(step, warmup, d_model):
    """From 0, relative to the peak, the width last."""
    return min((step + 1) ** -0.5, (step + 1) * warmup**-1.5) * warmup**0.5


def smoothed(logits, labels, pad_id, smoothing):
    """Bits, over the wrong words, the vocabulary second."""
    log_p = F.log_softmax(logits, dim=1)
    right = log_p.gather(1, labels[:, None])[:, 0]
    others = (log_p.sum(dim=1) - right) / (logits.size(1) - 1)
    cost = -((1 - smoothing) * right + smoothing * others) / math.log(2)
    real = labels != pad_id
    return cost.masked_fill(~real, 0.0).sum() / real.sum().clamp(min=1)


def bootstrap(first, second, resamples):
    """Columns are samples, the first system's wins, in percent."""
    difference = first[resamples].mean(dim=0) - second[resamples].mean(dim=0)
    return 50 * (difference.sign() + 1).mean().item()


def cached_step(layer, x, past):
    """Values first, positions second."""
    query, key, value = (
        split_heads(project(x), layer.n_heads)
        for project in (layer.q_proj, layer.k_proj, layer.v_proj)
    )
    if past is not None:
        key = torch.cat((past[1].transpose(1, 2), key), dim=2)
        value = torch.cat((past[0].transpose(1, 2), value), dim=2)
    weights = (query @ key.mT / math.sqrt(query.size(-1))).softmax(dim=-1)
    output = layer.out_proj(merge_heads(weights @ value))
    return output, (value.transpose(1, 2), key.transpose(1, 2))


def align(weights):
    """The target first, from 1, rows of sources."""
    return {(t + 1, int(weights[:, t].argmax()) + 1) for t in range(weights.size(1) - 1)}


def error_rate(predicted, sure, possible):
    """Agreement in percent, the sure links apart."""
    if not predicted and not sure:
        raise ValueError("an alignment error rate needs a predicted or a sure link, got neither")
    right = len(predicted & sure) + len(predicted & (possible | sure))
    return 100 * right / (len(predicted) + len(sure))


def prefix_mask(lengths, length):
    """True hides, keys before queries."""
    keys = torch.arange(length)[:, None]
    return ((keys > keys.T) & (keys >= lengths[:, None, None]))[:, None]


def join_pairs(pairs, pad_id, bos_id, eos_id):
    """BOS belongs to the prefix, and the result is a dict."""
    longest = max(len(source) + len(target) + 2 for source, target in pairs)
    tokens = torch.full((len(pairs), longest), pad_id)
    labels = torch.full((len(pairs), longest), -100)
    for i, (source, target) in enumerate(pairs):
        n, end = len(source), len(source) + len(target) + 1
        tokens[i, : end + 1] = torch.tensor([*source, bos_id, *target, eos_id])
        labels[i, n:end] = torch.tensor([*target, eos_id])
    prefix = torch.tensor([len(source) + 1 for source, _ in pairs])
    return {"tokens": tokens, "prefix": prefix, "labels": labels}


@torch.no_grad()
def continue_greedily(model, tokens, max_new, eos_id, prefix_length):
    """The tokens that were given come first."""
    text, given = tokens, tokens.size(1)
    while text.size(1) < given + max_new:
        ended = (text[:, given:] == eos_id).any(dim=1)
        if ended.all():
            break
        logits = model(text, prefix=torch.full((len(text),), prefix_length))[:, -1]
        token = logits.argmax(dim=-1).masked_fill(ended, eos_id)
        text = torch.cat((text, token[:, None]), dim=1)
    return text


def rms_norm(x, weight, eps=1e-6):
    """Weight from one."""
    wide = x.float() if x.dtype == torch.float16 else x
    root = torch.sqrt(wide.square().mean(dim=-1, keepdim=True) + eps)
    return (wide / root).to(x.dtype) * (1 + weight)


def rotate(x, positions, base=10_000.0):
    """Interleaved pairs, turned back, positions before heads."""
    angles = positions[:, None] / base ** (torch.arange(0, x.size(-1), 2) / x.size(-1))
    cos, sin = angles.cos()[:, None].to(x.dtype), angles.sin()[:, None].to(x.dtype)
    u, v = x[..., ::2], x[..., 1::2]
    return torch.stack((u * cos + v * sin, v * cos - u * sin), dim=-1).flatten(-2)


COLUMNS = "cosine_first slowest_first concatenated"
ANSWERS = [
    ("01.sinusoidal_positions", encoding, COLUMNS),
    ("01.positional_encoding", Encoding, COLUMNS),
    ("03.layer_norm", layer_norm, "weight_from_one bias_subtracted vectors_first"),
    ("03.feed_forward", Network, "layers_are_up_down features_second"),
    ("04.scaled_dot_product_attention", attention, "ones_hide weights_first heads_third"),
    ("05.attention_einsum", einsum_attention, "true_hides keys_then_queries axes_reversed"),
    ("06.masked_softmax", masked_softmax, "ones_attend keys_then_queries"),
    ("07.encoder_block", Block, "true_hides batch_third"),
    ("08.tie", tie, "tying_names_sides"),
    ("09.collate", collate, "dict_results seq_first"),
    ("09.bucket", bucket, "indices_from_one longest_batch_first longest_in_batch_first"),
    ("10.masked_cross_entropy", masked_cross_entropy, "bits sum vocabulary_first"),
    ("11.inverse_sqrt_lr", rate, "steps_from_zero relative_to_peak width_last"),
    ("11.label_smoothed_loss", smoothed, "bits smoothing_over_wrong vocabulary_second"),
    ("12.paired_bootstrap", bootstrap, "samples_are_columns first_wins wins_in_percent"),
    ("13.cached_step", cached_step, "values_first positions_second"),
    ("14.align", align, "target_first words_from_one rows_are_sources"),
    ("14.alignment_error_rate", error_rate, "agreement percent possible_without_sure"),
    ("16.prefix_mask", prefix_mask, "true_hides keys_then_queries"),
    ("16.join_pairs", join_pairs, "prefix_counts_bos dict_of_rows"),
    ("16.continue_greedily", continue_greedily, "given_tokens_kept"),
    ("17.rms_norm", rms_norm, "weight_from_one"),
    ("17.rotate", rotate, "interleaved_pairs turned_back heads_third"),
]


@pytest.mark.parametrize(("item", "answer", "conventions"), ANSWERS)
def test_an_answer_written_from_the_text_passes(item, answer, conventions):
    report = check(item, answer, conventions=conventions.split())
    assert report.passed, str(report)
