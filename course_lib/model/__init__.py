"""The reference Transformer; it imports nothing else of the course.

Reading order: ``attention``, ``masks``, ``feed_forward``, ``add_norm``, ``blocks``, ``positions``,
``embedding``, ``transformer``; then ``config``, ``cache``, ``attention_forms`` and ``recording``.
"""

from course_lib.model.add_norm import AddNorm, layer_norm
from course_lib.model.attention import (
    MultiHeadAttention,
    attention_matmul,
    masked_softmax,
    merge_heads,
    split_heads,
)
from course_lib.model.attention_forms import attention_auto, attention_einsum, attention_fused
from course_lib.model.blocks import DecoderBlock, EncoderBlock
from course_lib.model.cache import AttentionCache, KeyValueCache
from course_lib.model.config import PRESETS, TransformerConfig, preset
from course_lib.model.dropout import Dropout
from course_lib.model.embedding import TransformerEmbedding, embedding_std
from course_lib.model.feed_forward import FeedForward
from course_lib.model.masks import causal_mask, decoder_mask, padding_mask, to_pytorch_mask
from course_lib.model.parameter_count import count_parameters, parameter_parts
from course_lib.model.positions import (
    PositionalEncoding,
    shift_matrix,
    sinusoidal_positions,
    token_positions,
)
from course_lib.model.recording import AttentionRecord, record_attention
from course_lib.model.transformer import Decoder, Encoder, Transformer

__all__ = [
    "PRESETS",
    "AddNorm",
    "AttentionCache",
    "AttentionRecord",
    "Decoder",
    "DecoderBlock",
    "Dropout",
    "Encoder",
    "EncoderBlock",
    "FeedForward",
    "KeyValueCache",
    "MultiHeadAttention",
    "PositionalEncoding",
    "Transformer",
    "TransformerConfig",
    "TransformerEmbedding",
    "attention_auto",
    "attention_einsum",
    "attention_fused",
    "attention_matmul",
    "causal_mask",
    "count_parameters",
    "decoder_mask",
    "embedding_std",
    "layer_norm",
    "masked_softmax",
    "merge_heads",
    "padding_mask",
    "parameter_parts",
    "preset",
    "record_attention",
    "shift_matrix",
    "sinusoidal_positions",
    "split_heads",
    "to_pytorch_mask",
    "token_positions",
]
