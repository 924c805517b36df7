"""What each published bug costs: a small model trained with it and without it.

    python -m tools.benchmarks.published_bugs    # a quarter of an hour, for docs/published_bugs.md

Unlike the speeds that `python -m tools.benchmarks` measures, these numbers do not depend on what
else the machine is doing.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from statistics import fmean
from typing import Any

import torch

from course_lib.atomic import write_atomically
from course_lib.data import Corpus, Pair, SentencePair, load_corpus
from course_lib.model import Transformer, preset
from course_lib.training import (
    Recipe,
    RunOptions,
    TrainingData,
    evaluate,
    load_training_data,
    teacher_forced,
    train,
)
from course_lib.training.injected_bugs import inject_bugs
from course_lib.training.loss import translation_loss
from tools import ROOT
from tools.benchmarks.page import machine
from tools.benchmarks.rounds import table

PAGE = ROOT / "docs" / "published_bugs.md"
STEPS, TESTED = 1000, 300
# As in the published sizes, a head is an eighth of the model.
SMALL = {"d_model": 64, "d_ff": 256, "n_heads": 8, "d_head": None, "n_layers": 2, "max_len": 64}
BASE = Recipe(
    name="bugs",
    summary="to measure with",
    corpus="grammar_de_en",
    preset="small",
    train_size=20_000,
    batch_tokens=512,
    schedule="cosine",
    lr=2e-3,
    warmup=40,
    max_grad_norm=1.0,
    valid_every=100_000,
)
BLANK = 10  # the blank line stands after this fraction of the file: a tenth


@dataclass(frozen=True, kw_only=True)
class Bug:
    """A bug, a recipe without it, and what the bug changes in that recipe."""

    name: str
    system: str
    finding: str  # what the numbers show
    fixed: Recipe
    changes: dict[str, Any] = field(default_factory=dict)
    misaligned: bool = False  # whether the bug is in the data, as in ``misaligned``
    steps: float = 1.0  # relative to the usual number


def small(name: str, **changes: Any) -> Recipe:
    """The preset of a system, made small, with the same training as all others."""
    model = SMALL | changes.pop("model", {})
    return replace(BASE, preset=name, model=model, **changes)


def misaligned(corpus: Corpus) -> Corpus:
    """The corpus after a blank source line was dropped but not its target line: from there on, each
    source is paired with the target of the line before.
    """

    def sample(split: str, size: int | None, seed: int) -> Sequence[Pair]:
        pairs = corpus.sample(split, size, seed)
        if split != "train":
            return pairs
        cut = len(pairs) // BLANK
        sources = [pair.source for pair in [*pairs[:cut], *pairs[cut + 1 :]]]
        targets = [pair.target for pair in pairs[:-1]]
        return [SentencePair(s, t) for s, t in zip(sources, targets, strict=True)]

    return replace(corpus, sample=sample)


def bugs() -> list[Bug]:
    """All of them, in the order of the systems."""
    qa = small("fastai_qa")
    scratch = small("einsum_scratch", model={"residual_dropout": 0.1})
    wmt = small("wmt14_de_en", train_size=1500)
    warm = replace(wmt, train_size=20_000, schedule="inverse_sqrt", lr=2.5e-4, warmup=400)
    ted = small("fastestimator_ted")
    few = replace(ted, train_size=200)
    naive = small("naive_mt")
    return [
        Bug(
            name="LayerNorm without parameters",
            system="naive_mt",
            finding="norms without a scale and a shift of their own learn more slowly",
            fixed=small("naive_mt", model={"norm_affine": True}),
            changes={"model": naive.model},
        ),
        Bug(
            name="Positions without /d_model",
            system="fastai_qa",
            finding="all but a few columns are the same at every position, so word order is hard "
            "to learn",
            fixed=qa,
            changes={"bugs": ("positions_without_width",)},
        ),
        Bug(
            name="Tied embeddings from N(0, 1)",
            system="fastai_qa",
            finding="the initial loss is many times ln V, and much of the training goes into "
            "undoing that",
            fixed=qa,
            changes={"bugs": ("embeddings_from_normal",)},
        ),
        Bug(
            name="The last weights instead of the best",
            system="fastestimator_ted",
            finding="200 pairs, trained on for long: the loss on unseen sentences has risen "
            "far above its best; BLEU, low as it is, has not fallen with it",
            fixed=replace(few, schedule="constant", lr=1e-3, valid_every=50, valid_size=100),
            changes={"keep_weights": "last"},
        ),
        Bug(
            name="Blank lines dropped on each side by itself",
            system="fastestimator_ted",
            finding=f"a blank line of the source, a {BLANK}th into the file, and the last line of "
            "the target: between them, every target belongs to another source, and the model "
            "learns to babble",
            fixed=ted,
            misaligned=True,
        ),
        Bug(
            name="Scores divided by √d_model",
            system="einsum_scratch",
            finding="attention starts flatter than it should; it still learns to be sharp, a "
            "little later",
            fixed=scratch,
            changes={"bugs": ("scores_by_width",)},
        ),
        Bug(
            name="Dropout after the LayerNorm",
            system="einsum_scratch",
            finding="noise on the residual stream itself, which nothing bypasses, is among the "
            "costliest bugs of a model here",
            fixed=scratch,
            changes={"bugs": ("dropout_after_norm",)},
        ),
        Bug(
            name="An encoder without dropout",
            system="wmt14_de_en",
            finding="with 1,500 pairs and many epochs, no difference that one seed could show",
            fixed=wmt,
            changes={"bugs": ("encoder_without_dropout",)},
        ),
        Bug(
            name="A warm-up of 10 steps",
            system="wmt14_de_en",
            finding="the rate decays from step 10 on, and the model hardly learns at all",
            fixed=warm,
            changes={"warmup": 10},
            steps=3.0,
        ),
    ]


@dataclass(frozen=True)
class Outcome:
    """The result of a run: losses in nats per token, and scores of its translations."""

    first: float
    later: float
    valid: float
    bleu: float
    exact: float

    @property
    def cells(self) -> list[str]:
        """For the table."""
        losses = [f"{loss:.2f}" for loss in (self.first, self.later, self.valid)]
        return [*losses, f"{self.bleu:.1f}", f"{self.exact:.1%}"]


@cache
def training_data(train_size: int, valid_size: int, *, is_misaligned: bool) -> TrainingData:
    """The data for these sizes, loaded once."""
    recipe = replace(BASE, train_size=train_size, valid_size=valid_size)
    corpus = load_corpus(recipe.corpus)
    return load_training_data(recipe, misaligned(corpus) if is_misaligned else corpus)


def outcome(recipe: Recipe, *, steps: int, is_misaligned: bool = False, seed: int = 0) -> Outcome:
    """Train, and test the weights that are kept on unseen sentences."""
    data = training_data(recipe.train_size, recipe.valid_size, is_misaligned=is_misaligned)
    run = train(recipe, RunOptions(max_steps=steps, seed=seed), data=data)
    pairs = data.corpus.pairs("test", TESTED)
    valid, _ = teacher_forced(run.translator, data.encode(pairs))
    last = run.losses[-max(1, steps // 20) :]
    scores = evaluate(run.translator, pairs)
    return Outcome(run.losses[0], fmean(last), valid, scores.bleu, scores.exact)


def compare(bugs: Sequence[Bug], steps: int) -> list[list[str]]:
    """Two rows of the table for each bug."""
    known: dict[str, Outcome] = {}  # several bugs may share a fixed recipe

    def once(recipe: Recipe, steps: int, *, is_misaligned: bool = False) -> Outcome:
        name = repr((recipe, steps, is_misaligned))
        if name not in known:
            known[name] = outcome(recipe, steps=steps, is_misaligned=is_misaligned)
        return known[name]

    rows = []
    for number, bug in enumerate(bugs, start=1):
        taken = round(bug.steps * steps)
        fixed = once(bug.fixed, taken)
        released = once(replace(bug.fixed, **bug.changes), taken, is_misaligned=bug.misaligned)
        rows += [
            [f"{number}. {bug.name}", "fixed", *fixed.cells],
            [f"`{bug.system}`", "as released", *released.cells],
        ]
        print("\n".join(" | ".join(row) for row in rows[-2:]), flush=True)
    return rows


def initial_loss(*names: str) -> float:
    """The loss of `fastai_qa` in its full size before training, on random words."""
    torch.manual_seed(0)
    model = Transformer(preset("fastai_qa")).eval()
    inject_bugs(names, model)
    ids = torch.randint(2, model.config.target_vocab, (8, 24))
    with torch.no_grad():
        return float(translation_loss(model, ids, ids[:, :-1], ids[:, 1:], 0.0))


def chapter(steps: int = STEPS) -> str:
    """The page."""
    listed = bugs()
    header = ["", "", "initial loss", "loss", "unseen loss", "BLEU", "exact match"]
    rows = compare(listed, steps)
    [last] = (bug for bug in listed if "keep_weights" in bug.changes)
    number = listed.index(last) + 1
    recipes = {"fixed": last.fixed, "as released": replace(last.fixed, **last.changes)}
    for seed in (1, 2):
        for kind, recipe in recipes.items():
            other = outcome(recipe, steps=steps, seed=seed)
            rows += [[f"the same as {number}, {kind}, with seed {seed}", "", *other.cells]]
    again = outcome(small("fastai_qa"), steps=steps, seed=1)
    rows += [["the same as 2, fixed, with another seed", "", *again.cells]]
    chance = math.log(preset("fastai_qa").target_vocab)
    longer = {bug.name: round(bug.steps * steps) for bug in listed if bug.steps != 1}
    exceptions = "".join(f"; {name.lower()}: {count:,}" for name, count in longer.items())
    findings = "\n".join(
        f"{n}. **{bug.name}**: {bug.finding}." for n, bug in enumerate(listed, start=1)
    )
    return f"""# What the published bugs cost

Written by `python -m tools.benchmarks.published_bugs`. Each row trains one small model (d_model
{SMALL["d_model"]}, {SMALL["n_layers"]} + {SMALL["n_layers"]} layers, {SMALL["n_heads"]} heads, \
otherwise the preset of its system) on `{BASE.corpus}`, with
the same initial weights, batches and learning rates ({steps:,} steps{exceptions}).
Losses are in nats per token: at initialisation, over the last twentieth of the steps, and on
{TESTED} unseen sentences, which are then translated. One seed each (0), but for the last five rows:
differences as small as those from seed to seed mean nothing.

{table(header, rows)}

{findings}

In its full size, `fastai_qa` starts at a loss of {initial_loss():.2f} with its embeddings fixed,
and of {initial_loss("embeddings_from_normal"):.1f} as released; guessing at random gives ln \
{preset("fastai_qa").target_vocab:,} = {chance:.2f}.

{machine()}.
"""


if __name__ == "__main__":
    torch.set_num_threads(2 if len(sys.argv) < 2 else int(sys.argv[1]))
    write_atomically(PAGE, chapter())
