from types import SimpleNamespace

import pytest

# Plots import it late. Here it is loaded before any test: in a process that has run thousands of
# tests and is short of memory, the first import of pandas, which it needs, can fail.
import seaborn  # noqa: F401


@pytest.fixture
def make_run():
    """A run whose loss falls from 8 towards 0, validated every ten steps."""

    def make(name="first", steps=40, **changes):
        losses = [8 * 0.97**i for i in range(steps)]
        fields = {
            "name": name,
            "summary": f"recipe toy, seed 0: {steps} steps",
            "losses": losses,
            "learning_rates": [1e-3 * (i + 1) / steps for i in range(steps)],
            "minutes": [0.25 * (i + 1) for i in range(steps)],
            "epochs": [
                {
                    "epoch": step // 10,
                    "step": step,
                    "seconds": 15.0 * step,
                    "loss": losses[step - 1],
                    "valid_loss": losses[step - 1] + 0.5,
                    "valid_accuracy_teacher_forced": step / 50,
                    "valid_exact": 0.0,
                    "valid_bleu": 2.0 * step,
                }
                for step in range(10, steps + 1, 10)
            ],
        }
        return SimpleNamespace(**fields | changes)

    return make
