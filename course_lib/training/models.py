"""The models that a recipe can train: an encoder-decoder, or one stack for source and target."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from course_lib.model import Transformer, TransformerConfig, preset
from course_lib.model import count_parameters as count_encoder_decoder
from course_lib.modern import PREFIX_PRESETS, PrefixConfig, PrefixTransformer
from course_lib.modern.counts import count_parameters as count_stack

ModelConfig = TransformerConfig | PrefixConfig


def model_config(
    name: str, *, source_vocab: int = 1000, target_vocab: int = 1000, **changes: Any
) -> ModelConfig:
    """The preset called ``name`` for these vocabularies, with the named fields changed.

    Raises:
        ValueError: no preset has that name, or its configuration refuses a value.
    """
    if name not in PREFIX_PRESETS:
        return preset(name, source_vocab=source_vocab, target_vocab=target_vocab, **changes)
    return replace(PREFIX_PRESETS[name], vocab=target_vocab, **changes)


def new_model(config: ModelConfig) -> Transformer:
    """A model with weights from PyTorch's global random numbers."""
    return PrefixTransformer(config) if isinstance(config, PrefixConfig) else Transformer(config)


def config_class(values: dict[str, Any]) -> type[ModelConfig]:
    """Whose fields these are: one stack has one vocabulary."""
    return PrefixConfig if "vocab" in values else TransformerConfig


def config_from_json(values: dict[str, Any]) -> ModelConfig:
    """The configuration with these fields, as JSON gives them back: it has no tuples."""
    tuples = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    return config_class(values)(**values | tuples)


def count_parameters(config: ModelConfig) -> int:
    """All parameters of ``new_model(config)``, each shared one once."""
    if isinstance(config, PrefixConfig):
        return count_stack(config.stack)
    return count_encoder_decoder(config)
