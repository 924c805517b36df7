"""The grammar has no tensors but a million small calls: their types go unchecked here."""

import pytest
from jaxtyping import config


@pytest.fixture(scope="module", autouse=True)
def no_shapes_to_check():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "jaxtyping_disable", True)
        yield
