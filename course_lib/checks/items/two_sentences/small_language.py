"""A tiny translator after its training on a few sentences: it translates, or something else."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import KW_ONLY, dataclass

import torch

from course_lib.checks.items.two_sentences.tiny_translator import Momentum, Task, TinyTranslator
from course_lib.data import SentencePair
from course_lib.training import target_only_entropy

STEPS = 200
STATES = ("translates", "memorised", "blind", "early", "sees_the_label")
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
    _: KW_ONLY
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


def draw_trained(drawn: random.Random) -> Trained:
    state = drawn.choice(STATES)
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
    return Trained(task, others, state=state, losses=losses, right=right)


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
