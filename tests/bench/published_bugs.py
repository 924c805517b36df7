"""What each published mistake costs: a small model with it and without it, trained alike.

    python -m tests.bench.published_bugs    # a quarter of an hour; writes docs/published_bugs.md

Unlike the speed of `python -m tests.bench`, these numbers do not depend on who else uses the
machine.
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
from course_lib.training.step import translation_loss
from tests.bench.page import ROOT, machine
from tests.bench.rounds import table

PAGE = ROOT / "docs" / "bugs.md"
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
BLANK = 10  # one line in so many … of the file is where the blank line stands


@dataclass(frozen=True, kw_only=True)
class Bug:
    """A mistake, the recipe that is free of it, and what the mistake changes in that."""

    name: str
    system: str
    says: str  # what the numbers are to show
    mended: Recipe
    changes: dict[str, Any] = field(default_factory=dict)
    slips: bool = False  # whether it is a mistake of the data, as in ``slipped``
    steps: float = 1.0  # as many times the usual number


def small(name: str, **changes: Any) -> Recipe:
    """The preset of a system, made small, to be trained as all others are."""
    model = SMALL | changes.pop("model", {})
    return replace(BASE, preset=name, model=model, **changes)


def slipped(corpus: Corpus) -> Corpus:
    """The corpus after a blank source line was dropped without its partner: from there on, each
    source stands beside the target of the line before.
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
            says="norms without a scale and a shift of their own learn more slowly",
            mended=small("naive_mt", model={"norm_affine": True}),
            changes={"model": naive.model},
        ),
        Bug(
            name="Positions without /d_model",
            system="fastai_qa",
            says="all but a few columns say the same at every position, so order is hard to see",
            mended=qa,
            changes={"bugs": ("positions_without_width",)},
        ),
        Bug(
            name="Tied embeddings from N(0, 1)",
            system="fastai_qa",
            says="the first loss is many times ln V, and much of the training goes into undoing "
            "that",
            mended=qa,
            changes={"bugs": ("embeddings_from_normal",)},
        ),
        Bug(
            name="The last weights instead of the best",
            system="fastestimator_ted",
            says="200 pairs, learnt for long: the loss on unseen sentences has risen far above its "
            "best; their BLEU, low as it is, has not fallen with it",
            mended=replace(few, schedule="constant", lr=1e-3, valid_every=50, valid_size=100),
            changes={"keep_weights": "last"},
        ),
        Bug(
            name="Blank lines dropped on each side by itself",
            system="fastestimator_ted",
            says=f"one blank line, a {BLANK}th into the file: from there on, every target is a "
            "stranger's, and the model learns to babble",
            mended=ted,
            slips=True,
        ),
        Bug(
            name="Scores divided by √d_model",
            system="einsum_scratch",
            says="attention starts flatter than it should, and learns to be sharp all the same, a "
            "little later",
            mended=scratch,
            changes={"bugs": ("scores_by_width",)},
        ),
        Bug(
            name="Dropout after the LayerNorm",
            system="einsum_scratch",
            says="noise on the residual stream itself, with no way around it, is among the "
            "costliest bugs of a model here",
            mended=scratch,
            changes={"bugs": ("dropout_after_norm",)},
        ),
        Bug(
            name="An encoder without dropout",
            system="wmt14_de_en",
            says="on 1,500 pairs, read again and again, nothing that one seed could show",
            mended=wmt,
            changes={"bugs": ("encoder_without_dropout",)},
        ),
        Bug(
            name="A warm-up of 10 steps",
            system="wmt14_de_en",
            says="the rate decays from step 10 on, and the model hardly learns at all",
            mended=warm,
            changes={"warmup": 10},
            steps=3.0,
        ),
    ]


@dataclass(frozen=True)
class Outcome:
    """What a run came to: losses in nats a token, and how well it translates free-running."""

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
def data(train_size: int, valid_size: int, *, slips: bool) -> TrainingData:
    """All that a recipe's task depends on here, loaded once."""
    recipe = replace(BASE, train_size=train_size, valid_size=valid_size)
    corpus = load_corpus(recipe.corpus)
    return load_training_data(recipe, slipped(corpus) if slips else corpus)


def outcome(recipe: Recipe, *, steps: int, slips: bool = False, seed: int = 0) -> Outcome:
    """Train, and test the weights that are kept on sentences that were not seen."""
    task = data(recipe.train_size, recipe.valid_size, slips=slips)
    run = train(recipe, RunOptions(max_steps=steps, seed=seed), data=task)
    pairs = task.corpus.pairs("test", TESTED)
    valid, _ = teacher_forced(run.translator, task.encode(pairs))
    last = run.losses[-max(1, steps // 20) :]
    scores = evaluate(run.translator, pairs)
    return Outcome(run.losses[0], fmean(last), valid, scores.bleu, scores.exact)


def compare(bugs: Sequence[Bug], steps: int) -> list[list[str]]:
    """Two rows of the table for each bug."""
    known: dict[str, Outcome] = {}  # several bugs may share what is mended

    def once(recipe: Recipe, steps: int, *, slips: bool = False) -> Outcome:
        name = repr((recipe, steps, slips))
        if name not in known:
            known[name] = outcome(recipe, steps=steps, slips=slips)
        return known[name]

    rows = []
    for number, bug in enumerate(bugs, start=1):
        taken = round(bug.steps * steps)
        mended = once(bug.mended, taken)
        spoilt = once(replace(bug.mended, **bug.changes), taken, slips=bug.slips)
        rows += [
            [f"{number}. {bug.name}", "mended", *mended.cells],
            [f"`{bug.system}`", "as published", *spoilt.cells],
        ]
        print("\n".join(" | ".join(row) for row in rows[-2:]), flush=True)
    return rows


def first_loss(*names: str) -> float:
    """Of `fastai_qa` in its published size, on words drawn at random."""
    torch.manual_seed(0)
    model = Transformer(preset("fastai_qa")).eval()
    inject_bugs(names, model)
    ids = torch.randint(2, model.config.target_vocab, (8, 24))
    with torch.no_grad():
        return float(
            translation_loss(model, ids, ids[:, :-1], ids[:, 1:], model.config.pad_id, 0.0)
        )


def chapter(steps: int = STEPS) -> str:
    """The page."""
    listed = bugs()
    header = ["", "", "first loss", "loss", "unseen loss", "BLEU", "exactly right"]
    rows = compare(listed, steps)
    again = outcome(small("fastai_qa"), steps=steps, seed=1)
    rows += [["the same as 2, mended, with another seed", "", *again.cells]]
    chance = math.log(preset("fastai_qa").target_vocab)
    longer = {f.name: round(f.steps * steps) for f in listed if f.steps != 1}
    exceptions = "".join(f"; {name.lower()}: {count:,}" for name, count in longer.items())
    says = "\n".join(f"{n}. **{f.name}**: {f.says}." for n, f in enumerate(listed, start=1))
    return f"""# What the published mistakes cost

Written by `python -m tests.bench.published_bugs`. Each row trains one small model (d_model
{SMALL["d_model"]}, {SMALL["n_layers"]} + {SMALL["n_layers"]} layers, {SMALL["n_heads"]} heads, \
otherwise the preset of its system) on `{BASE.corpus}`, with
the same first weights, batches and rate ({steps:,} steps{exceptions}).
Losses are in nats a token: at the first step, over the last twentieth of the steps, and on
{TESTED} unseen sentences, which are then translated free-running. One seed each: differences as
small as that of the last row mean nothing.

{table(header, rows)}

{says}

In its published size, `fastai_qa` starts at a loss of {first_loss():.2f} where its embeddings are
mended, and of {first_loss("embeddings_from_normal"):.1f} as published; who knows nothing has ln \
{preset("fastai_qa").target_vocab:,} = {chance:.2f}.

{machine()}.
"""


if __name__ == "__main__":
    torch.set_num_threads(2 if len(sys.argv) < 2 else int(sys.argv[1]))
    write_atomically(PAGE, chapter())
