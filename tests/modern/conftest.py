"""What the tests of the decoder-only model share: small configurations, one for each choice."""

import pytest
import torch

from course_lib.modern import DecoderConfig

SMALL = {"vocab": 11, "d_model": 16, "d_ff": 24, "n_heads": 4, "n_layers": 3, "max_len": 32}
CHOICES = {
    "today": {},
    "2017": {
        "norm": "layer",
        "placement": "post",
        "activation": "relu",
        "positions": "sinusoidal",
        "bias": True,
        "scale_embeddings": True,
    },
    "learned positions": {"positions": "learned"},
    "no positions": {"positions": "none"},
    "multi-query": {"n_kv_heads": 1},
    "grouped": {"n_kv_heads": 2, "d_head": 6},
    "gemma": {
        "n_kv_heads": 1,
        "d_head": 6,
        "qk_norm": True,
        "placement": "both",
        "activation": "geglu",
        "windows": (2, None),
        "local_rope_base": 100.0,
        "scale_embeddings": True,
    },
    "latent": {"d_latent": 5, "d_rotary": 4},
    "latent, no positions": {"d_latent": 5, "positions": "none"},
    "windows": {"windows": (3,)},
    "untied": {"tied": False, "bias": True, "norm": "layer"},
}


@pytest.fixture(params=CHOICES.values(), ids=CHOICES)
def config(request: pytest.FixtureRequest) -> DecoderConfig:
    """A small configuration, once for each choice."""
    torch.manual_seed(0)
    return DecoderConfig(**SMALL | request.param)


@pytest.fixture
def small() -> dict[str, int]:
    """The sizes of a small model."""
    return dict(SMALL)
