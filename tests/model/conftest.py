"""What the model's tests share: random small configurations, models and batches.

Fixtures that return functions, for the test files do not import one another.
"""

from collections.abc import Callable, Iterator, Sequence

import jaxtyping
import pytest
import torch
from hypothesis import strategies as st
from torch import Tensor

from course_lib.model import Transformer, TransformerConfig


@st.composite
def _small_configs(draw: st.DrawFn, *, dropout: float = 0.0) -> TransformerConfig:
    tying = draw(st.sampled_from(["none", "output", "all"]))
    target_vocab = draw(st.integers(7, 12))
    source_vocab = target_vocab if tying == "all" else draw(st.integers(7, 12))
    flag = st.booleans()
    return TransformerConfig(
        source_vocab=source_vocab,
        target_vocab=target_vocab,
        d_model=draw(st.sampled_from([8, 12, 16])),
        d_ff=draw(st.sampled_from([8, 20])),
        n_heads=draw(st.sampled_from([1, 2, 4])),
        d_head=draw(st.sampled_from([None, 3, 8])),
        n_layers=draw(st.integers(1, 2)),
        pad_id=draw(st.integers(0, 2)),
        norm=draw(st.sampled_from(["post", "pre"])),
        norm_affine=draw(flag),
        final_norm=draw(flag),
        activation=draw(st.sampled_from(["relu", "gelu"])),
        positions=draw(st.sampled_from(["sinusoidal", "learned"])),
        layout=draw(st.sampled_from(["interleaved", "concatenated"])),
        max_len=16,
        scale_embeddings=draw(flag),
        tying=tying,
        attention_bias=draw(flag),
        feed_forward_bias=draw(flag),
        output_bias=draw(flag),
        source_embedding_dropout=dropout,
        target_embedding_dropout=dropout,
        attention_dropout=dropout,
        residual_dropout=dropout,
        feed_forward_dropout=dropout,
        attention=draw(st.sampled_from(["matmul", "einsum", "fused", "auto"])),
    )


@pytest.fixture
def own_messages() -> Iterator[None]:
    """Hear the library itself: elsewhere in the tests checked signatures refuse first."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(scope="session")
def small_configs() -> Callable[..., st.SearchStrategy[TransformerConfig]]:
    """``small_configs(dropout=…)`` is a strategy over every option a model has."""
    return _small_configs


@pytest.fixture(scope="session")
def make_model() -> Callable[..., Transformer]:
    """``make_model(config, seed=…, training=…)``, with the same weights for the same seed."""

    def make(config: TransformerConfig, *, seed: int = 0, training: bool = False) -> Transformer:
        torch.manual_seed(seed)
        return Transformer(config).train(training)

    return make


@pytest.fixture(scope="session")
def make_tokens() -> Callable[..., Tensor]:
    """``make_tokens(vocab, pad_id, lengths, seed=…, left=…)``: random sentences, padded."""

    def make(
        vocab: int, pad_id: int, lengths: Sequence[int], *, seed: int = 0, left: bool = False
    ) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        width = max(1, *lengths)
        tokens = torch.full((len(lengths), width), pad_id)
        for row, length in enumerate(lengths):
            # Steps of 1 … vocab-1 from the pad id never land on the pad id.
            steps = torch.randint(1, vocab, (length,), generator=generator)
            columns = slice(width - length, None) if left else slice(length)
            tokens[row, columns] = (pad_id + steps) % vocab
        return tokens

    return make


@pytest.fixture(scope="session")
def make_batch(
    make_tokens: Callable[..., Tensor],
) -> Callable[..., tuple[Tensor, Tensor]]:
    """``make_batch(config, source_lengths, target_lengths, seed=…, left=…)``."""

    def make(
        config: TransformerConfig,
        source_lengths: Sequence[int],
        target_lengths: Sequence[int],
        *,
        seed: int = 0,
        left: bool = False,
    ) -> tuple[Tensor, Tensor]:
        return (
            make_tokens(config.source_vocab, config.pad_id, source_lengths, seed=seed, left=left),
            make_tokens(
                config.target_vocab, config.pad_id, target_lengths, seed=seed + 1, left=left
            ),
        )

    return make
