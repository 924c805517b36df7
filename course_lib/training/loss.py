"""How wrong a batch of predictions is, pads not counted.

B batch, T target length, V vocabulary.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from course_lib.errors import not_one_text
from course_lib.model import Transformer
from course_lib.training.fast_loss import projected_loss

# From this vocabulary size on, the logits of a whole batch are too large to be worth storing.
BLOCKWISE_FROM = 2000


def label_smoothed_loss(
    logits: Float[Tensor, "batch target vocab"],
    labels: Int[Tensor, "batch target"],
    pad_id: int,
    smoothing: float,
) -> Float[Tensor, ""]:
    """Mean cross-entropy per real token, in nats, against labels that leave a share ``smoothing``
    to all V words alike (section 5.4). A batch of pads alone has loss 0.
    """
    total = F.cross_entropy(
        logits.flatten(0, 1),
        labels.flatten(),
        ignore_index=pad_id,
        label_smoothing=smoothing,
        reduction="sum",
    )
    return total / (labels != pad_id).sum().clamp(min=1)


def masked_cross_entropy(
    logits: Float[Tensor, "batch target vocab"], labels: Int[Tensor, "batch target"], pad_id: int
) -> Float[Tensor, ""]:
    """Mean cross-entropy per real token, in nats. A batch of pads alone has loss 0."""
    total = F.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), ignore_index=pad_id, reduction="sum"
    )
    return total / (labels != pad_id).sum().clamp(min=1)


def translation_loss(
    model: Transformer,
    source: Int[Tensor, "batch source"],
    decoder_input: Int[Tensor, "batch target"],
    labels: Int[Tensor, "batch target"],
    label_smoothing: float,
) -> Float[Tensor, ""]:
    """The forward pass: mean cross-entropy per real label, in nats."""
    pad_id = model.config.pad_id
    if model.config.target_vocab < BLOCKWISE_FROM:
        logits = model(source, decoder_input).float()
        return label_smoothed_loss(logits, labels, pad_id, label_smoothing)
    hidden = model.hidden(decoder_input, model.encode(source), source)
    weight, bias = model.output.weight, model.output.bias
    return projected_loss(hidden, weight, bias, labels, pad_id, label_smoothing)


def target_only_entropy(targets: Sequence[Sequence[Hashable]]) -> float:
    """The target-only baseline: the lowest loss per token, in nats, without reading the source.

    Such a model can at best know how often each word follows each prefix. Its loss is the entropy
    of the next word given the words before it.

    Args:
        targets: the target sentences, as words or ids; an end of sentence is added to each.
    """
    sentences = [(*not_one_text(target), None) for target in targets]
    prefixes = Counter(s[:i] for s in sentences for i in range(len(s)))
    continued = Counter(s[: i + 1] for s in sentences for i in range(len(s)))
    nats = sum(n * math.log(prefixes[words[:-1]] / n) for words, n in continued.items())
    return nats / sum(map(len, sentences))
