"""Train encoder-decoders and decoder-only models on the same pairs, and compare them.

    python -m tools.claims.one_stack --out FILE                       # all, three seeds: an hour
    python -m tools.claims.one_stack --out FILE --models prefix --seeds 0 --steps 100

Every model sees the same batches of the grammar in the same order, as many steps as the recipe
`small` takes, and has within 1 % the same number of parameters. One line of JSON is appended to
FILE for each run: loss per target token, exact match on unseen sentences, and seconds. What FILE
has already is not run again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor, nn
from tqdm import tqdm

from course_lib.data import BOS, EOS, PAD, Batch, EncodedPair, teacher_forcing
from course_lib.decoding import greedy_decode
from course_lib.model import Transformer, preset
from course_lib.modern import DecoderConfig, DecoderOnly, continue_greedily, join_pairs
from course_lib.modern import next_token_loss as decoder_loss
from course_lib.training.data.batch_sampler import BatchSampler, DataPosition
from course_lib.training.data.training_data import TrainingData, load_training_data
from course_lib.training.loss import masked_cross_entropy
from course_lib.training.optimizers import make_optimizer, make_schedule
from course_lib.training.recipes import load_recipe
from course_lib.training.step import check_and_clip_gradients, set_learning_rate

TEST_PAIRS = 500
D_MODEL = 128  # of all models
RECIPE = replace(load_recipe("small"), shared_vocabulary=True)
OF_2017 = {
    "d_ff": 640,
    "norm": "layer",
    "norm_eps": 1e-5,
    "activation": "relu",
    "positions": "sinusoidal",
    "bias": True,
    "scale_embeddings": True,
}
TODAY = {"d_ff": 427}
# What each model changes: of the preset `small`, or of a decoder-only model of four layers.
ENCODER_DECODERS: dict[str, dict[str, Any]] = {
    "encoder-decoder": {},
    "encoder-decoder, embeddings at 1": {"std": 1.0},
}
DECODERS: dict[str, dict[str, Any]] = {
    "prefix": OF_2017,
    "prefix, embeddings at 1": OF_2017 | {"std": 1.0},
    "causal, no prefix": OF_2017 | {"causal": True},
    "today": TODAY,
    "today, added positions": TODAY | {"positions": "sinusoidal", "std": 1.0},
    "today, learned positions": TODAY | {"positions": "learned"},
    "today, no positions": TODAY | {"positions": "none"},
}


class Contestant:
    """A model with its loss on a batch and its greedy translation."""

    def __init__(self, name: str, data: TrainingData, seed: int) -> None:
        vocabulary = data.source_vocabulary
        self.pad, self.bos, self.eos = (vocabulary.ids[t] for t in (PAD, BOS, EOS))
        self.causal = False
        torch.manual_seed(seed)
        self.model: nn.Module
        if name in ENCODER_DECODERS:
            changes = dict(ENCODER_DECODERS[name])
            std = changes.pop("std", None)
            config = preset(
                "small", source_vocab=len(vocabulary), target_vocab=len(vocabulary), tying="all"
            )
            self.model = Transformer(replace(config, output_bias=False, **changes))
            self.table = self.model.target_embedding.tokens.weight
            scale = math.sqrt(config.d_model)
        else:
            changes = dict(DECODERS[name])
            std, self.causal = changes.pop("std", None), changes.pop("causal", False)
            sizes: dict[str, Any] = {
                "d_model": D_MODEL,
                "n_heads": 4,
                "n_layers": 4,
                "max_len": 256,
            }
            decoder = DecoderConfig(vocab=len(vocabulary), **sizes, attention="matmul", **changes)
            self.model = DecoderOnly(decoder)
            self.table, scale = self.model.tokens.weight, self.model.scale
        if std is not None:  # of the embeddings after scaling
            nn.init.normal_(self.table, std=std / scale)

    def loss(self, batch: Batch) -> Tensor:
        """Per target token, in nats."""
        if isinstance(self.model, Transformer):
            decoder_input, labels = teacher_forcing(batch.target, self.pad)
            return masked_cross_entropy(self.model(batch.source, decoder_input), labels, self.pad)
        rows = [
            (source[source != self.pad].tolist(), target[target != self.pad][1:-1].tolist())
            for source, target in zip(batch.source, batch.target, strict=True)
        ]
        joined = join_pairs(rows, pad_id=self.pad, bos_id=self.bos, eos_id=self.eos)
        prefix = None if self.causal else joined.prefix
        return decoder_loss(self.model(joined.tokens, prefix=prefix), joined.labels)

    def translate(self, sources: Tensor) -> list[list[int]]:
        """Greedy translations of sources of one length, each up to its EOS."""
        if isinstance(self.model, Transformer):
            rows = greedy_decode(self.model, sources, self.bos, self.eos, 40).tolist()
        else:
            assert isinstance(self.model, DecoderOnly)
            start = torch.full_like(sources[:, :1], self.bos)
            rows = continue_greedily(
                self.model,
                torch.cat((sources, start), dim=1),
                max_new=40,
                eos_id=self.eos,
                prefix_length=0 if self.causal else sources.size(1),
            ).tolist()
        return [row[: row.index(self.eos)] if self.eos in row else row for row in rows]


def train(
    contestant: Contestant, batches: Iterator[Batch], *, steps: int, note: str
) -> list[float]:
    """The loss of each step."""
    model = contestant.model.train()
    recipe = replace(RECIPE, warmup=min(RECIPE.warmup, 1 + steps // 5))
    optimizer, schedule = make_optimizer(recipe, model), make_schedule(recipe, d_model=D_MODEL)
    losses = []
    for step in tqdm(range(1, steps + 1), desc=note, leave=False, disable=None):
        set_learning_rate(optimizer, schedule(step, steps))
        optimizer.zero_grad()
        loss = contestant.loss(next(batches))
        loss.backward()
        check_and_clip_gradients(model, recipe.max_grad_norm, loss)
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    return losses


@torch.inference_mode()
def test(contestant: Contestant, pairs: Sequence[EncodedPair]) -> tuple[float, float]:
    """Loss per target token, and the share of sources whose translation is the target."""
    by_length: dict[int, list[EncodedPair]] = {}
    for pair in pairs:
        by_length.setdefault(len(pair.source), []).append(pair)
    exact, loss, tokens = 0, 0.0, 0
    for group in by_length.values():
        sources = torch.tensor([pair.source for pair in group])
        translations = contestant.translate(sources)
        for translation, pair in zip(translations, group, strict=True):
            target = list(pair.target)
            exact += translation[: len(target)] == target[1:-1]
            batch = Batch(torch.tensor([pair.source]), torch.tensor([target]))
            loss += contestant.loss(batch).item() * (len(target) - 1)
            tokens += len(target) - 1
    return loss / tokens, exact / len(pairs)


def run(name: str, data: TrainingData, seed: int, *, steps: int | None) -> dict[str, Any]:
    """Train and test one model."""
    contestant = Contestant(name, data, seed)
    config = preset(
        "small", source_vocab=len(data.source_vocabulary), target_vocab=len(data.source_vocabulary)
    )
    sampler = BatchSampler(data, RECIPE, config, seed=seed)
    steps = steps or RECIPE.epochs * sampler.batches_per_epoch
    batches = (batch for batch, _ in sampler.batches(DataPosition()))
    began = time.process_time()
    losses = train(contestant, batches, steps=steps, note=f"{name}, seed {seed}")
    seconds = time.process_time() - began
    pairs = data.corpus.pairs("test", TEST_PAIRS)
    loss, exact = test(contestant, data.encode(pairs))
    size = sum(p.numel() for p in contestant.model.parameters())
    at = [n for n in (100, 150, 300, 600, 1200, 1800, steps) if n <= steps]
    curve = {str(n): round(fmean(losses[max(0, n - 30) : n]), 4) for n in at}
    return {
        "model": name,
        "seed": seed,
        "steps": steps,
        "parameters": size,
        "test_loss": round(loss, 4),
        "exact": round(exact, 4),
        "seconds": round(seconds, 1),
        "train_loss": curve,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what FILE does not have yet."""
    names = [*ENCODER_DECODERS, *DECODERS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="file of results, a line a run")
    parser.add_argument("--models", nargs="+", choices=names, default=names, metavar="MODEL")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--steps", type=int, help="of each run; by default those of `small`")
    options = parser.parse_args(arguments)
    lines = options.out.read_text("utf-8").splitlines() if options.out.exists() else []
    done = {(r["model"], r["seed"], r["steps"]) for r in map(json.loads, lines)}
    known = {(model, seed) for model, seed, steps in done if steps == (options.steps or steps)}
    torch.set_num_threads(1)
    data = load_training_data(RECIPE)
    for seed, name in itertools.product(options.seeds, options.models):
        if (name, seed) in known:
            continue
        result = run(name, data, seed, steps=options.steps)
        with options.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result, ensure_ascii=False) + "\n")
        tqdm.write(json.dumps(result, ensure_ascii=False))


if __name__ == "__main__":
    main()
