"""The implementations that are compared: the same model as others write it, and as we do.

All have 3 + 3 layers, d_model 256, d_ff 1024, 4 heads, vocabularies of 8,000, dropout 0.1 in the
same positions, and no weights shared between the embeddings and the output.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.data import Batch, teacher_forcing
from course_lib.model import Transformer, TransformerConfig, sinusoidal_positions
from course_lib.training import label_smoothed_loss
from course_lib.training.fast_loss import projected_loss

PAD, BOS, EOS, VOCAB = 0, 1, 2, 8000
D, D_FF, HEADS, LAYERS, DROPOUT = 256, 1024, 4, 3, 0.1
SMOOTHING = 0.1

Step = Callable[[Batch], None]


def take_step(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """Backward, and one update of the weights."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def bf16(enabled: bool = True) -> torch.autocast:
    """A context in which matrix products use bfloat16."""
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled)


class Embedding(nn.Module):
    """Tokens × √D plus positions, as in PyTorch's own tutorials."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, D, padding_idx=PAD)
        self.positions: Tensor
        self.register_buffer("positions", sinusoidal_positions(512, D))
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, ids: Tensor) -> Tensor:
        """Embeddings (B, T, D) of token ids (B, T)."""
        return self.dropout(self.tokens(ids) * math.sqrt(D) + self.positions[: ids.size(1)])


class Tutorial(nn.Module):
    """``torch.nn.Transformer`` between two embeddings and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = Embedding(), Embedding()
        self.transformer = nn.Transformer(
            D, HEADS, LAYERS, LAYERS, D_FF, dropout=DROPOUT, batch_first=True
        )
        self.output = nn.Linear(D, VOCAB)

    def hidden(self, source: Tensor, target: Tensor) -> Tensor:
        """The decoder's output (B, T, D)."""
        length = target.size(1)
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        return self.transformer(
            self.source(source),
            self.target(target),
            tgt_mask=future,
            src_key_padding_mask=source == PAD,
            tgt_key_padding_mask=target == PAD,
            memory_key_padding_mask=source == PAD,
            tgt_is_causal=True,
        )


def tutorial() -> Step:
    """fp32, Adam, logits and loss at every position with ``ignore_index``."""
    model = Tutorial().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)

    def step(batch: Batch) -> None:
        decoder_input, labels = batch.target[:, :-1], batch.target[:, 1:]
        logits = model.output(model.hidden(batch.source, decoder_input))
        take_step(optimizer, criterion(logits.reshape(-1, VOCAB), labels.reshape(-1)))

    return step


def tutorial_with_every_trick() -> Step:
    """The same modules given bf16, a fused optimiser, and logits of real tokens alone."""
    model = Tutorial().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step(batch: Batch) -> None:
        decoder_input, labels = teacher_forcing(batch.target, PAD)
        real = labels != PAD
        with bf16():
            logits = model.output(model.hidden(batch.source, decoder_input)[real])
        loss = F.cross_entropy(logits.float(), labels[real], label_smoothing=SMOOTHING)
        take_step(optimizer, loss)

    return step


class OwnNorm(nn.Module):
    """LayerNorm by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.gain, self.shift = nn.Parameter(torch.ones(D)), nn.Parameter(torch.zeros(D))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise the last dimension of x."""
        mean, std = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)
        return self.gain * (x - mean) / (std + 1e-6) + self.shift


class OwnAttention(nn.Module):
    """Four linear layers around two products, −1e9 where attention is masked."""

    def __init__(self) -> None:
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(D, D) for _ in range(4))
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        """The context of each query (B, Q, D); ``mask`` is True where it may attend."""
        rows = query.size(0)
        query, key, value = (
            linear(x).view(rows, -1, HEADS, D // HEADS).transpose(1, 2)
            for linear, x in zip(self.linears, (query, key, value), strict=False)
        )
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(D // HEADS)
        weights = scores.masked_fill(mask.unsqueeze(1) == 0, -1e9).softmax(dim=-1)
        context = torch.matmul(self.dropout(weights), value)
        return self.linears[-1](context.transpose(1, 2).contiguous().view(rows, -1, D))


class OwnBlock(nn.Module):
    """x + dropout(sublayer(norm(x))), two or three times."""

    def __init__(self, n_attentions: int) -> None:
        super().__init__()
        self.attentions = nn.ModuleList(OwnAttention() for _ in range(n_attentions))
        self.feed_forward = nn.Sequential(
            nn.Linear(D, D_FF), nn.ReLU(), nn.Dropout(DROPOUT), nn.Linear(D_FF, D)
        )
        self.norms = nn.ModuleList(OwnNorm() for _ in range(n_attentions + 1))
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        """The block's output (B, T, D); an encoder block ignores the memory."""
        y = self.norms[0](x)
        x = x + self.dropout(self.attentions[0](y, y, y, mask))
        if len(self.attentions) == 2:
            y = self.norms[1](x)
            x = x + self.dropout(self.attentions[1](y, memory, memory, memory_mask))
        return x + self.dropout(self.feed_forward(self.norms[-1](x)))


class Annotated(nn.Module):
    """Log-probabilities (B, T, V) at every position."""

    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = Embedding(), Embedding()
        self.encoder = nn.ModuleList(OwnBlock(1) for _ in range(LAYERS))
        self.decoder = nn.ModuleList(OwnBlock(2) for _ in range(LAYERS))
        self.encoder_norm, self.decoder_norm = OwnNorm(), OwnNorm()
        self.generator = nn.Linear(D, VOCAB)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Log-probabilities of the token after each of the target's."""
        source_mask = (source != PAD).unsqueeze(-2)
        past = torch.ones(1, target.size(1), target.size(1)).triu(1) == 0
        target_mask = (target != PAD).unsqueeze(-2) & past
        memory = self.source(source)
        for block in self.encoder:
            memory = block(memory, source_mask, memory, source_mask)
        memory, x = self.encoder_norm(memory), self.target(target)
        for block in self.decoder:
            x = block(x, target_mask, memory, source_mask)
        return F.log_softmax(self.generator(self.decoder_norm(x)), dim=-1)


def smoothed_kl(log_p: Tensor, labels: Tensor) -> Tensor:
    """Label smoothing as a target distribution for each position, written out (N, V)."""
    wanted = torch.full_like(log_p, SMOOTHING / (VOCAB - 2))
    wanted.scatter_(1, labels.unsqueeze(1), 1 - SMOOTHING)
    wanted[:, PAD] = 0
    wanted.index_fill_(0, (labels == PAD).nonzero().squeeze(1), 0.0)
    return F.kl_div(log_p, wanted, reduction="sum")


def annotated() -> Step:
    """fp32, Adam, log-softmax and KL divergence at every position."""
    model = Annotated().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)

    def step(batch: Batch) -> None:
        decoder_input, labels = batch.target[:, :-1], batch.target[:, 1:]
        log_p = model(batch.source, decoder_input).reshape(-1, VOCAB)
        loss = smoothed_kl(log_p, labels.reshape(-1)) / (labels != PAD).sum()
        take_step(optimizer, loss)

    return step


def our_config(**changes: Any) -> TransformerConfig:
    """The configuration of the library's model; ``changes`` override it."""
    sizes = {"source_vocab": VOCAB, "target_vocab": VOCAB, "d_model": D, "d_ff": D_FF}
    shape = {"n_heads": HEADS, "n_layers": LAYERS, "pad_id": PAD, "max_len": 512}
    drops = dict.fromkeys(
        ("attention_dropout", "feed_forward_dropout", "residual_dropout"), DROPOUT
    )
    return TransformerConfig(**{**sizes, **shape, **drops, "final_norm": True, **changes})


def ours_readable() -> Step:
    """fp32, all logits, the loss of the lessons."""
    model = Transformer(our_config()).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step(batch: Batch) -> None:
        decoder_input, labels = teacher_forcing(batch.target, PAD)
        logits = model(batch.source, decoder_input)
        take_step(optimizer, label_smoothed_loss(logits, labels, PAD, SMOOTHING))

    return step


def ours_fast(*, half: bool = True) -> Step:
    """The blocked loss and, with ``half``, products in bfloat16."""
    model = Transformer(our_config()).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step(batch: Batch) -> None:
        decoder_input, labels = teacher_forcing(batch.target, PAD)
        with bf16(half):
            hidden = model.hidden(decoder_input, model.encode(batch.source), batch.source)
            output = model.output
            loss = projected_loss(hidden, output.weight, output.bias, labels, PAD, SMOOTHING)
        take_step(optimizer, loss)

    return step
