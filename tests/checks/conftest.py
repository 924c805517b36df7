"""Tests of the checks make millions of small calls of the model."""

import pytest


@pytest.fixture(autouse=True)
def _shapes_unchecked(own_messages):
    """Leave out the check of every shape, which the tests of the model make."""
