import pytest
import torch

import course_lib.model as course


@pytest.fixture(scope="session")
def model():
    """A small model with random weights, pre-norm."""
    torch.manual_seed(0)
    return course.Transformer(course.preset("small", n_layers=2, d_model=32, d_ff=64)).eval()
