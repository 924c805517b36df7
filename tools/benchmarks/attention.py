"""The forms of attention, forward and backward, over lengths and number formats."""

from collections.abc import Callable

import torch

from course_lib.model.attention_forms import ATTENTION, Attention, fastest_attention
from tools.benchmarks.page import store
from tools.benchmarks.peers import HEADS, D
from tools.benchmarks.rounds import LEAST_ROUNDS, median_and_range, ratios, table, take_rounds

TOKENS = 2048  # batch × length
FORMS = {name: form for name, form in ATTENTION.items() if name != "auto"}
LENGTHS = (8, 16, 32, 64, 128, 256, 512, 1024)


def turn(
    form: Attention, *, length: int, dtype: torch.dtype, dropout: float
) -> Callable[[], float]:
    """Self-attention with padding and causal mask, forward and backward."""
    batch = TOKENS // length
    shape = (batch, length, HEADS, D // HEADS)
    query, key, value = (
        torch.randn(shape).to(dtype).transpose(1, 2).requires_grad_() for _ in range(3)
    )
    real = torch.arange(length) < torch.linspace(length * 0.7, length, batch)[:, None]
    mask = torch.ones(length, length, dtype=torch.bool).tril() & real[:, None, None, :]
    upstream = torch.randn(batch, HEADS, length, D // HEADS).to(dtype)

    def take() -> float:
        for _ in range(3):
            context, _ = form(query, key, value, mask, dropout_p=dropout)
            torch.autograd.grad(context, (query, key, value), upstream)
        return 3.0

    return take


def measure_attention(minutes: float) -> str:
    """Every form at every shape; store the table."""
    torch.manual_seed(0)
    rows, rounds = [], []
    cases = [
        (dtype, dropout, length)
        for dtype in (torch.float32, torch.bfloat16)
        for dropout in (0.0, 0.1)
        for length in LENGTHS
    ]
    for dtype, dropout, length in cases:
        turns: dict[str, Callable[[], float]] = {
            name: turn(form, length=length, dtype=dtype, dropout=dropout)
            for name, form in FORMS.items()
        }
        kind = str(dtype).removeprefix("torch.")
        seconds = take_rounds(turns, minutes=minutes / len(cases), name=f"{kind} {length}")
        query = torch.empty(1, 1, 1, 1, dtype=dtype)
        chosen = fastest_attention(query, length)
        auto = next(name for name, form in FORMS.items() if form is chosen)
        best = min(FORMS, key=lambda name: sorted(seconds[name])[len(seconds[name]) // 2])
        rounds.append(len(seconds[auto]))
        times = [median_and_range([1000 * s for s in seconds[name]]) for name in FORMS]
        against_best = ratios(seconds, best, auto)
        rows.append([kind, f"{dropout}", f"{length}", *times, auto, median_and_range(against_best)])
    text = (
        f"Milliseconds, forward and backward, {HEADS} heads of {D // HEADS}, batch × length "
        f"{TOKENS:,}, causal and padding mask. The last column compares what `auto` chose with the "
        "form that was fastest (target: 0.9). On a CPU there is no fused kernel with dropout: "
        "there `fused` is the same two products.\n\n"
        + table(["dtype", "dropout", "length", *FORMS, "auto", "auto / best"], rows)
    )
    store("Attention", text, rounds=max(LEAST_ROUNDS, min(rounds)))
    return text
