"""How cost grows: step time with the tokens, the memory of the loss with the vocabulary."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch
from torch.nn import functional as F

from course_lib.training import label_smoothed_loss
from course_lib.training.fast_loss import projected_loss
from tools.benchmarks.page import store
from tools.benchmarks.peers import PAD, D, ours_fast
from tools.benchmarks.rounds import median_and_range, table, take_rounds
from tools.benchmarks.sentences import even_batches, sentence_pairs
from tools.benchmarks.training import turn

TOKENS = (512, 1024, 2048, 4096, 8192)
VOCABULARIES = (2_000, 8_000, 32_000)


def peak() -> float:
    """The largest memory this process has had, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux, where getrusage would count the parent's memory, too
        lines = status.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**10
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # macOS counts bytes


def loss_memory(blocked: bool, vocab: int, tokens: int) -> float:
    """MB that a loss and its gradients need beyond the weights and the weights' gradient."""
    torch.manual_seed(0)
    weight = torch.randn(vocab, D).requires_grad_()
    bias = torch.zeros(vocab, requires_grad=True)
    hidden = torch.randn(1, tokens, D, requires_grad=True)
    labels = torch.randint(1, vocab, (1, tokens))

    def run(n: int) -> None:
        x, y = hidden[:, :n], labels[:, :n]
        if blocked:
            loss = projected_loss(x, weight, bias, y, PAD, 0.1)
        else:
            loss = label_smoothed_loss(F.linear(x, weight, bias), y, PAD, 0.1)
        loss.backward()

    run(1)  # loads kernels, and leaves the gradients in place
    before = peak()
    run(tokens)
    return peak() - before


def in_new_process(blocked: bool, vocab: int, tokens: int) -> float:
    """``loss_memory`` in a process that has used no memory before."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        return executor.submit(loss_memory, blocked, vocab, tokens).result()


def measure_growth(minutes: float) -> str:
    """Time in rounds, memory once; store both tables."""
    torch.manual_seed(0)
    pairs, step = sentence_pairs(8192), ours_fast()
    turns = {
        f"{tokens:,}": turn(step, even_batches(pairs, tokens), steps=8192 // tokens)
        for tokens in TOKENS
    }
    seconds = take_rounds(turns, minutes=minutes, name="growth")
    times = [
        [tokens, median_and_range([1e6 * s for s in numbers], 1)]
        for tokens, numbers in seconds.items()
    ]
    memory = [
        [f"{vocab:,}", f"{tokens:,}"]
        + [f"{in_new_process(blocked, vocab, tokens):,.0f}" for blocked in (False, True)]
        for tokens in (1024, 4096)
        for vocab in VOCABULARIES
    ]
    text = "\n\n".join(
        (
            "A fast step in bf16: microseconds per token, padding not counted, by the size of the "
            "batch.",
            table(["tokens in a batch", "µs/token"], times),
            "Memory of output layer, loss and their gradients in fp32, beyond the weights and "
            "their gradient, in MB: with all logits, and in blocks.",
            table(["vocabulary", "tokens", "all logits", "blocks"], memory),
        )
    )
    store("Growth", text, rounds=len(seconds["2,048"]))
    return text
