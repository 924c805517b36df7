"""The decoder-only Transformer of today, field by field beside the model of 2017.

Reading order: ``config``, ``norm``, ``rotary``, ``feed_forward``, ``masks``, ``attention``,
``latent_attention``, ``cache``, ``decoder_only``, ``prefix``, ``generate``; then ``counts``,
``online_softmax``, ``paged_cache``, ``prefix_transformer`` and the folder ``published_models``.
"""

from course_lib.modern.attention import GroupedQueryAttention, repeat_heads
from course_lib.modern.cache import DecoderCache, WindowCache
from course_lib.modern.config import DecoderConfig
from course_lib.modern.counts import (
    active_parameters,
    cache_bytes,
    cache_bytes_per_token,
    cache_numbers_per_token,
    count_parameters,
    parameter_parts,
)
from course_lib.modern.decoder_only import Block, DecoderOnly
from course_lib.modern.feed_forward import GatedFeedForward, gated_width
from course_lib.modern.generate import continue_greedily
from course_lib.modern.latent_attention import LatentAttention, absorbed_scores
from course_lib.modern.masks import prefix_mask, window_mask
from course_lib.modern.norm import RMSNorm, rms_norm
from course_lib.modern.online_softmax import online_attention
from course_lib.modern.paged_cache import PagedCache
from course_lib.modern.prefix import IGNORED, PrefixBatch, join_pairs, next_token_loss
from course_lib.modern.prefix_transformer import PREFIX_PRESETS, PrefixConfig, PrefixTransformer
from course_lib.modern.published_models.config_json import read_config
from course_lib.modern.published_models.gguf_model import (
    load_gguf,
    pairs_in_halves,
    published_model_path,
)
from course_lib.modern.published_models.presets import PRESETS, published
from course_lib.modern.rotary import rotate, rotate_interleaved

__all__ = [
    "IGNORED",
    "PREFIX_PRESETS",
    "PRESETS",
    "Block",
    "DecoderCache",
    "DecoderConfig",
    "DecoderOnly",
    "GatedFeedForward",
    "GroupedQueryAttention",
    "LatentAttention",
    "PagedCache",
    "PrefixBatch",
    "PrefixConfig",
    "PrefixTransformer",
    "RMSNorm",
    "WindowCache",
    "absorbed_scores",
    "active_parameters",
    "cache_bytes",
    "cache_bytes_per_token",
    "cache_numbers_per_token",
    "continue_greedily",
    "count_parameters",
    "gated_width",
    "join_pairs",
    "load_gguf",
    "next_token_loss",
    "online_attention",
    "pairs_in_halves",
    "parameter_parts",
    "prefix_mask",
    "published",
    "published_model_path",
    "read_config",
    "repeat_heads",
    "rms_norm",
    "rotate",
    "rotate_interleaved",
    "window_mask",
]
