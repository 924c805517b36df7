"""What the decoding tests share: tiny versions of every preset, models, sources, a slow truth.

Fixtures that return functions, for the test files do not import one another.
"""

from contextlib import contextmanager

import pytest
import torch
from jaxtyping import config as jaxtyping_config

from course_lib.decoding import evaluating
from course_lib.model import PRESETS, Transformer, preset


@pytest.fixture(params=PRESETS)
def tiny_config(request):
    """Each preset (post-norm and pre-norm, learned positions, tied, pad id 1 …) made tiny."""
    return preset(
        request.param,
        source_vocab=9,
        target_vocab=9,
        d_model=16,
        d_ff=32,
        n_heads=2,
        d_head=None,
        n_layers=2,
        max_len=16,
    )


@pytest.fixture(scope="session")
def make_decoder():
    """``make_decoder(config, seed=…)``: a random model in float64, so that rounding decides no tie,
    which is sure of something and ends sentences now and then.
    """

    def make(config, *, seed=0, eos_bias=1.0):
        torch.manual_seed(seed)
        model = Transformer(config).double()
        with torch.no_grad():
            model.output.weight.mul_(3.0 if config.tying == "none" else 30.0)
            if model.output.bias is not None:
                model.output.bias[2] += eos_bias
        return model

    return make


@pytest.fixture(scope="session")
def make_source():
    """``make_source(config, lengths, seed=…, left=…)``: random sentences, padded."""

    def make(config, lengths, *, seed=0, left=False):
        generator = torch.Generator().manual_seed(seed)
        source = torch.full((len(lengths), max(lengths)), config.pad_id)
        for row, length in enumerate(lengths):
            columns = slice(max(lengths) - length, None) if left else slice(length)
            source[row, columns] = torch.randint(
                3, config.source_vocab, (length,), generator=generator
            )
        return source

    return make


@contextmanager
def _unchecked():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jaxtyping_config, "jaxtyping_disable", True)
        yield


@pytest.fixture(scope="session")
def unchecked():
    """``with unchecked():`` leaves shapes unchecked, in a slow truth of thousands of calls."""
    return _unchecked


@pytest.fixture(scope="session")
def next_log_probs(unchecked):
    """``next_log_probs(model, source (1, S), prefixes)``: the log-probabilities (N, V) of the token
    after each prefix, from the whole model without a cache.
    """

    def compute(model, source, prefixes):
        with unchecked(), evaluating(model):
            rows = source.expand(len(prefixes), -1)
            return model(rows, torch.tensor(prefixes))[:, -1].log_softmax(-1)

    return compute


def pytest_collection_modifyitems(items):
    """Measure no coverage in slow tests: it would cost half as much again, and quick ones have
    been to the same lines.
    """
    for item in items:
        if "tests/decoding/" in item.path.as_posix() and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.unmeasured)
