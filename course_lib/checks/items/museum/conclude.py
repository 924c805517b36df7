"""15.conclude: What was reported?"""

from __future__ import annotations

import random
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SEEDS, CHECKPOINTS, EVERY = 5, 12, 500  # checkpoints are EVERY steps apart
APART = 0.12  # BLEU between any two of the numbers that might have been reported


@dataclass(frozen=True)
class Trainings:
    """One recipe, trained with five seeds, and a number that was reported.

    Attributes:
        train: training loss in nats a token, (seeds, checkpoints), as the other two.
        valid: BLEU on the validation sentences.
        test: BLEU on the test sentences.
    """

    why: str
    train: Tensor
    _: KW_ONLY
    valid: Tensor
    test: Tensor

    @property
    def candidates(self) -> dict[str, float]:
        """What each way to choose and to average would report."""
        by_valid = self.test.gather(1, self.valid.argmax(1, keepdim=True))[:, 0]  # (seeds,)
        return {
            "honest": by_valid.mean().item(),
            "on_test": self.test.amax(1).mean().item(),
            "on_train": self.test.gather(1, self.train.argmin(1, keepdim=True)).mean().item(),
            "valid_shown": self.valid.amax(1).mean().item(),
            "best_seed": by_valid.max().item(),
            "four_of_five": by_valid.sort().values[1:].mean().item(),
        }

    @property
    def reported(self) -> float:
        """The number in the report."""
        return round(self.candidates[self.why], 1)

    @property
    def is_clear(self) -> bool:
        """Whether no two ways give the same number, and no checkpoint is best by a hair."""
        numbers = self.candidates.values()
        tops = [each.topk(2).values for each in (self.valid, self.test, -self.train)]
        return all(abs(a - b) > APART for a, b in combinations(numbers, 2)) and all(
            bool((top[:, 0] - top[:, 1] > 0.005).all()) for top in tops
        )


def _make(drawn: random.Random) -> Trainings:
    why = drawn.choice([*WHY])
    while True:
        run = _train(why, best=drawn.uniform(24, 34), peak=drawn.uniform(5, 8))
        if run.is_clear:
            return run


def _train(why: str, *, best: float, peak: float) -> Trainings:
    """Curves that rise and fall again, with noise: a model that begins to overfit."""
    steps = torch.arange(CHECKPOINTS, dtype=torch.float64)
    curve = best - 0.12 * (steps - peak).square().clamp(max=60) * torch.where(
        steps < peak, 1.0, 0.7
    )
    of_seed = 0.9 * torch.randn(SEEDS, 1, dtype=torch.float64)
    valid, test = (
        curve + of_seed + 0.5 * torch.randn(SEEDS, CHECKPOINTS, dtype=torch.float64)
        for _ in range(2)
    )
    train = (
        4.0 * (-steps / 5).exp() + 0.8 + 0.06 * torch.randn(SEEDS, CHECKPOINTS, dtype=torch.float64)
    )
    valid = valid + 1.2 * torch.randn(1, dtype=torch.float64)  # other sentences
    return Trainings(
        why, train.round(decimals=2), valid=valid.round(decimals=1), test=test.round(decimals=1)
    )


def _show(run: Trainings) -> Outcome:
    lines = [f"reported: {run.reported:.1f} BLEU on the test set", ""]
    for name, numbers, digits in (
        ("training loss", run.train, 2),
        ("validation BLEU", run.valid, 1),
        ("test BLEU", run.test, 1),
    ):
        lines.append(f"{name}, by seed, every {EVERY} steps")
        for seed, row in enumerate(numbers.tolist()):
            lines.append(f"  {seed}:" + "".join(f"{each:6.{digits}f}" for each in row))
    return Outcome(
        text="\n".join(lines),
        values={
            "reported": run.reported,
            "train": run.train,
            "valid": run.valid,
            "test": run.test,
        },
        picture=lambda: _picture(run),
    )


def _picture(run: Trainings) -> Axes:
    from course_lib.viz import plot_curves

    return plot_curves(
        {f"seed {seed}": row for seed, row in enumerate(run.test.tolist())},
        x=[EVERY * n for n in range(1, CHECKPOINTS + 1)],
        x_label="step",
        y_label="test BLEU",
        title="Five seeds, and the number that was reported",
        baselines={"reported": run.reported},
    )


WHY = {
    "honest": "the report did as it claims",
    "on_test": "of each seed, the checkpoint with the best test result was taken",
    "on_train": "of each seed, the checkpoint with the lowest training loss was taken",
    "valid_shown": "the number is a validation result",
    "best_seed": "the number is that of the seed with the best test result, not the mean of the "
    "five",
    "four_of_five": "the seed with the worst test result was left out of the mean",
}
run = NumberedRun(
    id="15.conclude",
    make=_make,
    show=_show,
    questions={
        "conclusion": Choice(
            options=WHY,
            right=lambda run: run.why,
            look={
                "honest": "Then you would get the reported number, to the last digit, as the mean "
                "over the five seeds of the test result at the best checkpoint by validation.",
                "on_test": "Then the reported number would be the mean of the five highest numbers "
                "in the rows of the test set.",
                "on_train": "Then the reported number would be the mean of five test results, each "
                "at the step with the lowest training loss, which is often a late one.",
                "valid_shown": "Then the reported number would be the mean of the five highest "
                "numbers in the rows of the validation set.",
                "best_seed": "Then the reported number would be the highest of the five test "
                "results that belong to the chosen checkpoints.",
                "four_of_five": "Then the reported number would be the mean of four test results "
                "at the chosen checkpoints, without the lowest.",
            },
        ),
        "bleu": Number(
            what="the BLEU score that should have been reported",
            right=lambda run: run.candidates["honest"],
            look="What should choose the checkpoint of a seed, and what should be reported of "
            "it then? The report itself describes it. Give two decimals, also if the number was "
            "reported correctly.",
            within=0.006,  # two decimals
        ),
    },
    says=lambda run: (
        f"{WHY[run.why]}: {run.candidates[run.why]:.2f}. Done as the report says, it is "
        f"{run.candidates['honest']:.2f}; choosing each checkpoint on the test set would make it "
        f"{run.candidates['on_test']:.2f}, and taking the best seed "
        f"{run.candidates['best_seed']:.2f}."
    ),
)
item = own_number_item(
    run,
    hints=(
        "Each of the six sentences says how one would get the number. Which of them gives the "
        "reported one?",
        "Choose a checkpoint for each seed: argmax or argmin along the steps. Look up the result "
        "at that checkpoint. Then combine the five.",
        'chosen = run["valid"].argmax(1); run["test"][range(5), chosen].mean(). Change what is '
        "chosen by, what is looked up, or the mean, one at a time.",
    ),
)
