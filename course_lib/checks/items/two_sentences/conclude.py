"""10.conclude: Far below ln V, so it translates?"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from dataclasses import dataclass

import torch

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)
from course_lib.checks.items.two_sentences.tiny_translator import Momentum, Task, TinyTranslator
from course_lib.data import SentencePair
from course_lib.training import target_only_entropy

SUBJECTS = (
    ("ich möchte", "i want"),
    ("wir möchten", "we want"),
    ("sie möchten", "they want"),
    ("ich brauche", "i need"),
    ("wir brauchen", "we need"),
)
THINGS = (
    ("tee", "tea"),
    ("brot", "bread"),
    ("wasser", "water"),
    ("milch", "milk"),
    ("kaffee", "coffee"),
    ("salz", "salt"),
)


@dataclass(frozen=True)
class Trained:
    """A model after its training, and what it costs in nats per token.

    Attributes:
        state: which conclusion is right.
        losses: with the sources of the sentences, and with those of other sentences; then both
            for sentences that it hasn't seen.
        right: how many sentences are translated right, of either kind.
    """

    task: Task
    others: Task
    state: str
    losses: list[float]
    right: list[int]

    @property
    def loss(self) -> float:
        return self.losses[0]

    @property
    def shuffled(self) -> float:
        return self.losses[1]

    @property
    def baseline(self) -> float:
        return target_only_entropy([pair.target for pair in self.task.pairs])

    @property
    def ln_v(self) -> float:
        return math.log(len(self.task.english))


def _draw_pairs(drawn: random.Random, held_out: int) -> tuple[list[SentencePair], ...]:
    """Pairs to train on, one of them two or three times, and four others of the same words."""
    subjects, things = drawn.sample(SUBJECTS, 4), drawn.sample(THINGS, 5)
    pairs = [
        SentencePair((*ich.split(), tee), (*i.split(), tea, "."))
        for (ich, i), (tee, tea) in itertools.product(subjects, things)
    ]
    drawn.shuffle(pairs)
    others, seen = pairs[:held_out], pairs[held_out:]
    for position in (3, 6)[: drawn.randint(1, 2)]:  # not side by side: the sources are shuffled
        seen.insert(position, seen[0])
    return seen, others[:4], pairs


def _make(drawn: random.Random) -> Trained:
    state = drawn.choice([*STATES])
    while True:
        held_out = drawn.randint(*{"translates": (4, 6), "memorised": (9, 12)}.get(state, (4, 12)))
        seen, unseen, every = _draw_pairs(drawn, held_out)
        task, others = Task(seen, of=Task(every)), Task(unseen, of=Task(every))
        model, stop = task.new_model(), drawn.uniform(1.4, 1.9)
        baseline = target_only_entropy([pair.target for pair in seen])
        optimizer = Momentum(model, lr=0.4, weight_decay=1e-3)
        for _ in range(STEPS):
            source = task.batch.source * (state != "blind")
            costs, real = task.costs(model, source, shifted=state != "sees_the_label")
            loss = costs[real].mean()
            if state == "early" and loss.item() < stop * baseline:
                break
            optimizer.clear_gradients()
            loss.backward()
            optimizer.step()
        run = _measured(task, others, state, model)
        if _is_clear(run):
            return run


@torch.no_grad()
def _measured(task: Task, others: Task, state: str, model: TinyTranslator) -> Trained:
    losses, right = [], []
    for each in (task, others):
        source = each.batch.source * (state != "blind")
        for given in (source, source.roll(1, dims=0)):
            costs, real = each.costs(model, given, shifted=state != "sees_the_label")
            losses.append(costs[real].mean().item())
        right.append(each.translated(model, source))
    return Trained(task, others, state, losses, right)


def _is_clear(run: Trained) -> bool:
    """Whether the numbers bear out this state, and no other."""
    base, reads = run.baseline, run.shuffled - run.loss > run.baseline
    share = run.right[1] / len(run.others.pairs)
    return {
        "translates": run.loss < base / 2 and reads and share >= 0.75,
        "memorised": run.loss < base / 2 and reads and share <= 0.25,
        "blind": base < run.loss < 1.08 * base,
        "early": run.loss > 1.3 * base and run.loss < run.ln_v / 2,
        "sees_the_label": run.loss < base / 4 and run.shuffled < base / 2,
    }[run.state]


def _show(run: Trained) -> Outcome:
    counted = Counter(run.task.pairs)
    lines = [
        f"{' '.join(pair.source):22} {' '.join(pair.target):22} {f'{n} times' if n > 1 else ''}"
        for pair, n in counted.items()
    ]
    lines += ["", f"ln V = {run.ln_v:.3f}", ""]
    lines.append(f"{'sentences':22}   loss  sources shuffled   translated right")
    for i, (name, task) in enumerate((("trained on", run.task), ("not seen", run.others))):
        loss, shuffled = run.losses[2 * i : 2 * i + 2]
        right = f"{run.right[i]} of {len(task.pairs)}"
        lines.append(f"{name:22}  {loss:5.3f}  {shuffled:16.3f}   {right}")
    return Outcome(
        text="\n".join(line.rstrip() for line in lines),
        values={
            "pairs": run.task.pairs,
            "vocabulary": len(run.task.english),
            "loss": run.loss,
            "shuffled": run.shuffled,
            "other_pairs": run.others.pairs,
            "other_loss": run.losses[2],
        },
    )


STEPS = 200
STATES = {
    "translates": "it reads the source, and most other sentences of these words come out right as "
    "well: within this small language, it translates",
    "memorised": "it reads the source and has memorised its sentences, but most other sentences of "
    "the same words come out wrong",
    "blind": "it has learned all that the English alone can tell, and doesn't read the source",
    "early": "it hasn't yet learned all that the English alone can tell",
    "sees_the_label": "it sees the very token that it should predict, and doesn't translate at all",
}
run = NumberedRun(
    id="10.conclude",
    make=_make,
    show=_show,
    questions={
        "baseline": Number(
            what="the target-only baseline of the sentences it was trained on",
            right=lambda run: run.baseline,
            look="For each prefix of a target, count what follows it, `<eos>` included: that is "
            'your `target_only_entropy(run["pairs"])`. A pair that occurs three times counts '
            "three times.",
            within=0.002,
        ),
        "conclusion": Choice(
            options=STATES,
            right=lambda run: run.state,
            look={
                "translates": "Then the loss would be below the baseline, shuffled sources would "
                "cost a lot, and most sentences that it hasn't seen would be right.",
                "memorised": "Then the loss would be below the baseline and shuffled sources "
                "would cost a lot, but few sentences that it hasn't seen would be right.",
                "blind": "Then the loss would lie on the baseline, or a few hundredths above it, "
                "and shuffled sources would cost nothing.",
                "early": "Then the loss would be clearly above the baseline: knowing the English "
                "sentences alone would already bring it further down.",
                "sees_the_label": "Then the loss would be far below the baseline although "
                "shuffled sources cost nothing, and no sentence would be right.",
            },
        ),
    },
    says=lambda run: (
        f"ln V is {run.ln_v:.2f}, the baseline {run.baseline:.3f}, and your loss {run.loss:.3f}: "
        "what counts is on which side of the baseline it lies, and what a shuffled source costs."
    ),
)
item = own_number_item(
    run,
    hints=(
        "How low could a model get on these sentences that has never read a word of German?",
        "Compute the baseline of the sentences that it was trained on and put the loss beside it: "
        "above it, on it, or below it? Only then look at what shuffled sources cost, and at the "
        "sentences that it hasn't seen.",
        'target_only_entropy(run["pairs"]), and then run["loss"] and run["shuffled"]. If the loss '
        "is below it, the source must have been read, or the label.",
    ),
)
