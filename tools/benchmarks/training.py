"""Tokens a second while training, and how much of the processor's limit that is."""

from collections.abc import Callable
from itertools import cycle
from statistics import median

import torch

from course_lib.data import Batch
from tools import ROOT
from tools.benchmarks.page import store
from tools.benchmarks.peers import (
    D_FF,
    LAYERS,
    VOCAB,
    D,
    Step,
    annotated,
    ours_fast,
    ours_readable,
    tutorial,
    tutorial_with_every_trick,
)
from tools.benchmarks.rounds import Seconds, median_and_range, ratios, table, take_rounds
from tools.benchmarks.sentences import even_batches, random_batches, real_tokens, sentence_pairs

STEPS = 3  # per round
TUTORIAL, ANNOTATED = "`nn.Transformer`, tutorial style", "Annotated-Transformer style"
TRICKS = "`nn.Transformer`, every trick"
READABLE, FAST_FP32, FAST = "ours, readable", "ours, fast, fp32", "ours, fast"


def turn(step: Step, batches: list[Batch], steps: int) -> Callable[[], float]:
    """A function that takes some training steps and returns how many tokens they had, unpadded."""
    following = cycle(batches)

    def take() -> float:
        work = 0
        for _ in range(steps):
            batch = next(following)
            step(batch)
            work += real_tokens(batch)
        return work

    return take


def trainers(n: int = 8192, steps: int = STEPS) -> dict[str, Callable[[], float]]:
    """Every implementation, each ready to train for a few steps."""
    torch.manual_seed(0)
    pairs = sentence_pairs(n)
    rows, even = random_batches(pairs), even_batches(pairs)
    return {
        TUTORIAL: turn(tutorial(), rows, steps),
        ANNOTATED: turn(annotated(), rows, steps),
        TRICKS: turn(tutorial_with_every_trick(), even, steps),
        READABLE: turn(ours_readable(), rows, steps),
        FAST_FP32: turn(ours_fast(half=False), even, steps),
        FAST: turn(ours_fast(), even, steps),
    }


TARGETS = (  # faster, slower, the least ratio
    (FAST, TUTORIAL, 7.0),
    (FAST, ANNOTATED, 9.0),
    (FAST, TRICKS, 1.4),
    (FAST_FP32, TUTORIAL, 3.0),
    (READABLE, TUTORIAL, 1.0),
)


def measure_training(minutes: float) -> str:
    """Train in rounds; store the table and the picture."""
    seconds = take_rounds(trainers(), minutes=minutes, name="train")
    rows = [
        [
            who,
            median_and_range([1 / s for s in numbers], 0),
            median_and_range(ratios(seconds, TUTORIAL, who)),
            median_and_range(ratios(seconds, ANNOTATED, who)),
        ]
        for who, numbers in seconds.items()
    ]
    targets = [
        [f"{fast} against {slow}", median_and_range(ratios(seconds, slow, fast)), f"{least}"]
        for fast, slow, least in TARGETS
    ]
    plot(seconds)
    text = "\n\n".join(
        (
            "3 + 3 layers, d_model 256, d_ff 1024, 4 heads, vocabularies of 8,000, dropout 0.1. "
            "Tutorial, Annotated-Transformer style and readable: fp32, batches of 128 sentences in "
            "random order. The others: batches of sentences of similar length, up to 2,048 tokens "
            "with padding; all but the one in fp32 multiply in bfloat16. Sentence lengths as in "
            "Multi30k. Tokens are those of both sides, padding not counted.",
            table(["", "tokens/s", "× tutorial", "× Annotated"], rows),
            table(["", "times as fast", "target"], targets),
            "![tokens per second](benchmarks_training.svg)",
        )
    )
    store("Training", text, rounds=len(seconds[FAST]))
    return text


def plot(seconds: Seconds) -> None:
    """Bars of tokens per second, with the range over the rounds."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "course"
    from matplotlib import pyplot

    speeds = {who.replace("`", ""): [1 / s for s in numbers] for who, numbers in seconds.items()}
    figure, axes = pyplot.subplots(figsize=(8, 3))
    names = list(speeds)[::-1]
    middle = [median(speeds[name]) for name in names]
    low = [m - min(speeds[name]) for m, name in zip(middle, names, strict=True)]
    high = [max(speeds[name]) - m for m, name in zip(middle, names, strict=True)]
    colours = ["#1b9e77" if name.startswith("ours") else "#999999" for name in names]
    axes.barh(names, middle, xerr=[low, high], color=colours, capsize=3)
    axes.set_xlabel("training tokens per second, padding not counted (median and range)")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    (ROOT / "docs").mkdir(exist_ok=True)
    figure.savefig(ROOT / "docs" / "benchmarks_training.svg", metadata={"Date": None})
    pyplot.close(figure)


def useful_operations(batch: Batch) -> float:
    """Floating-point operations of the matrix products of one step, padding not counted.

    Two for each weight and token, once forward and twice backward; attention's own two products
    are below 2 % of that at these lengths, and not counted.
    """
    source = int((batch.source != 0).sum())
    target = int((batch.target[:, 1:] != 0).sum())
    feed_forward = 2 * D * D_FF
    encoder = LAYERS * (4 * D * D + feed_forward)  # for each source token
    memory = LAYERS * 2 * D * D  # the keys and values that the decoder reads
    decoder = LAYERS * (6 * D * D + feed_forward) + VOCAB * D  # for each target token
    return 6.0 * (source * (encoder + memory) + target * decoder)


def products(dtype: torch.dtype, size: int = 1536) -> Callable[[], float]:
    """A function that multiplies matrices and returns the number of operations."""
    a, b = (torch.randn(size, size).to(dtype) for _ in range(2))
    out = torch.empty(size, size, dtype=dtype)

    def take() -> float:
        times = 20 if dtype == torch.bfloat16 else 5
        for _ in range(times):
            torch.mm(a, b, out=out)
        return times * 2.0 * size**3

    return take


def measure_limit(minutes: float) -> str:
    """Useful operations of a step against those of plain matrix products."""
    torch.manual_seed(0)
    even = even_batches(sentence_pairs(8192))

    def working(step: Step) -> Callable[[], float]:
        following = cycle(even)

        def take() -> float:
            work = 0.0
            for _ in range(STEPS):
                batch = next(following)
                step(batch)
                work += useful_operations(batch)
            return work

        return take

    turns = {
        "matrix product, fp32": products(torch.float32),
        "a step, fp32": working(ours_fast(half=False)),
        "matrix product, bf16": products(torch.bfloat16),
        "a step, bf16": working(ours_fast()),
    }
    seconds = take_rounds(turns, minutes=minutes, name="limit")
    rows = []
    for kind, least in (("fp32", "65 %"), ("bf16", "40 %")):
        limit, step = f"matrix product, {kind}", f"a step, {kind}"
        share = [100 * r for r in ratios(seconds, limit, step)]
        speeds = ([1e-9 / s for s in seconds[who]] for who in (limit, step))
        rows.append(
            [
                kind,
                *(median_and_range(s, 0) for s in speeds),
                median_and_range(share, 0) + " %",
                least,
            ]
        )
    text = (
        "Operations in a training step's matrix products, padding not counted, per second of the "
        "whole step (dropout, norms, loss and optimiser take time, too), against plain products of "
        "1536 × 1536 matrices.\n\n"
        + table(["", "limit, GFLOP/s", "step, GFLOP/s", "share", "target"], rows)
    )
    store("The processor's limit", text, rounds=len(seconds["a step, bf16"]))
    return text
