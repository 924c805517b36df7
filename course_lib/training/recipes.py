"""A recipe is everything that decides a training run, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args, get_type_hints

from course_lib.decoding import Decoding
from course_lib.errors import CourseError
from course_lib.training.injected_bugs import BUGS
from course_lib.wording import did_you_mean


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What to train, on what, and how.

    ``preset`` and ``model`` (changed fields) give the configuration; vocabulary sizes come from the
    corpus. Training lasts ``epochs`` passes over ``train_size`` pairs.

    Raises:
        CourseError: a value makes no sense; the message says which and why.
    """

    name: str
    summary: str  # one line for --help
    corpus: str
    preset: str
    model: dict[str, Any] = field(default_factory=dict)
    bugs: tuple[str, ...] = ()  # of a published system, by name, to be injected on purpose

    train_size: int | None = None  # pairs; None takes all that there are
    tokens: Literal["words", "bpe"] = "words"
    vocab_size: int = 8000  # of byte-pair encoding, at most
    tokenizer: str | None = (
        None  # a tokenizer.json or "hub:NAME", instead of one made from the data
    )
    shared_vocabulary: bool = False  # one vocabulary for both languages
    unknown_word: bool = True  # whether vocabularies of words have <unk>
    batch_tokens: int = 4096  # tokens of a batch's longer side, padding included
    micro_batches: int = 1  # gradient accumulation: a batch is computed in so many parts

    optimizer: Literal["sgd", "adam", "adamw"] = "adamw"
    momentum: float = 0.0  # of sgd
    betas: tuple[float, float] = (0.9, 0.98)  # of adam and adamw (section 5.3)
    weight_decay: float = 0.0
    schedule: Literal["constant", "inverse_sqrt", "cosine", "one_cycle"] = "constant"
    lr: float | None = None  # the highest; None is the paper's own, for inverse_sqrt
    warmup: int = 1  # steps
    label_smoothing: float = 0.0
    max_grad_norm: float | None = None  # gradients are clipped to this norm; None never clips
    # Of the first epoch, the second … and all later ones, wherever the model has any but on the
    # attention weights: a pair that is seen for the first time cannot be memorised yet. () leaves
    # the model's own dropout.
    dropout: tuple[float, ...] = ()

    epochs: int = 1
    valid_every: int | None = None  # steps between validations; None is an epoch
    patience: int | None = None  # early stopping: validations without a lower loss
    keep_weights: Literal["best", "last"] = "best"  # those of the lowest validation loss, or last
    valid_size: int = 0  # pairs for each validation
    test_size: int = 0  # pairs for the final test of each split; 0 takes 500
    decoding: Decoding = field(default_factory=Decoding)  # of that test

    def __post_init__(self) -> None:
        at_least_1 = "train_size vocab_size batch_tokens micro_batches warmup epochs"
        for name in [*at_least_1.split(), "valid_every", "patience"]:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise CourseError(f"{name} must be at least 1, got {value}")
        for name in ("valid_size", "test_size", "weight_decay"):
            if not 0 <= getattr(self, name) < math.inf:  # put this way, it also refuses NaN
                raise CourseError(f"{name} must not be negative, got {getattr(self, name)}")
        for name in ("lr", "max_grad_norm"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise CourseError(f"{name} must be finite and not negative, got {value}")
        if not all(0 <= rate < 1 for rate in self.dropout):
            raise CourseError(f"dropout must be rates from 0 to below 1, got {self.dropout}")
        for name in ("momentum", "label_smoothing", "betas"):
            value = getattr(self, name)
            if not all(0 <= x < 1 for x in (value if isinstance(value, tuple) else (value,))):
                raise CourseError(f"{name} must lie in [0, 1), got {value}")
        for name in ("tokens", "optimizer", "schedule", "keep_weights"):
            choices = get_args(get_type_hints(Recipe)[name])
            if getattr(self, name) not in choices:
                raise CourseError(
                    f"{name} must be one of {', '.join(choices)}, got {getattr(self, name)!r}"
                )
        for bug in self.bugs:
            if bug not in BUGS:
                raise CourseError(f"bugs must be among {', '.join(BUGS)}, got {bug!r}")
        if self.lr is None and self.schedule != "inverse_sqrt":
            raise CourseError(
                f"a {self.schedule} schedule needs lr, its highest rate, got None: "
                "only inverse_sqrt has one of its own"
            )


# `small`, for one stack: a source and its target are one row of one vocabulary.
_ONE_STACK: dict[str, Any] = {
    "corpus": "grammar_de_en",
    "train_size": 100_000,
    "shared_vocabulary": True,
    "batch_tokens": 1024,
    "schedule": "cosine",
    "lr": 3e-3,
    "warmup": 400,
    "max_grad_norm": 1.0,
    "epochs": 2,
    "valid_size": 200,
    "test_size": 500,
}
RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="naive_mt",
            summary="two sentences to memorise (blog, 2022): 30 epochs of one batch",
            corpus="two_sentences",
            preset="naive_mt",
            unknown_word=False,
            optimizer="sgd",
            lr=1e-3,
            momentum=0.99,
            epochs=30,
        ),
        Recipe(
            name="fastai_qa",
            summary="French questions to English (blog, 2021): one-cycle, smoothed labels",
            corpus="questions_fr_en",
            preset="fastai_qa",
            train_size=47_389,
            batch_tokens=2048,
            optimizer="adam",
            schedule="one_cycle",
            lr=5e-4,
            betas=(0.9, 0.98),
            label_smoothing=0.1,
            epochs=8,
            valid_every=1000,
            valid_size=200,
            test_size=500,
        ),
        Recipe(
            name="fastestimator_ted",
            summary="TED talks, Portuguese to English (tutorial): the paper's schedule",
            corpus="ted_pt_en",
            preset="fastestimator_ted",
            tokens="bpe",
            vocab_size=30_000,
            batch_tokens=2048,
            optimizer="adam",
            schedule="inverse_sqrt",
            warmup=4000,
            epochs=20,
            valid_every=2000,
            valid_size=200,
            test_size=500,
        ),
        Recipe(
            name="einsum_scratch",
            summary="a forward pass (blog), here with the training that it never had",
            corpus="grammar_de_en",
            preset="einsum_scratch",
            train_size=60_000,
            batch_tokens=1024,
            optimizer="adam",
            schedule="inverse_sqrt",
            warmup=4000,
            epochs=3,
            valid_every=1000,
            valid_size=200,
            test_size=500,
        ),
        Recipe(
            name="wmt14_de_en",
            summary="the first 10,000 pairs of WMT14 (blog, 2024), AdamW, one vocabulary",
            corpus="wmt14_de_en",
            preset="wmt14_de_en",
            train_size=10_000,
            tokens="bpe",
            vocab_size=28_996,
            shared_vocabulary=True,
            batch_tokens=4096,
            schedule="inverse_sqrt",
            lr=2.5e-4,
            warmup=400,
            weight_decay=0.01,
            max_grad_norm=1.0,
            epochs=100,
            valid_every=1000,
            valid_size=200,
            test_size=500,
        ),
        Recipe(
            name="small",
            summary="the course's own translator, two minutes on a laptop",
            corpus="grammar_de_en",
            preset="small",
            train_size=100_000,
            batch_tokens=1024,
            schedule="cosine",
            lr=3e-3,
            warmup=400,
            max_grad_norm=1.0,
            epochs=2,
            valid_size=200,
            test_size=500,
        ),
        Recipe(
            name="mine",
            summary="a Transformer of your own parts (`course mine`), ten minutes on a laptop",
            corpus="grammar_de_en",
            preset="small",
            model={"norm": "post", "final_norm": False},  # the block of the paper and exercises
            train_size=100_000,
            batch_tokens=1024,
            optimizer="adam",
            schedule="inverse_sqrt",
            warmup=400,
            epochs=2,
            valid_every=250,
            valid_size=200,
            test_size=500,
        ),
        Recipe(
            name="prefix",
            summary="as small, with one stack of blocks of 2017: ten minutes on a laptop",
            preset="prefix",
            **_ONE_STACK,
        ),
        Recipe(
            name="modern",
            summary="as small, with one stack of today's blocks: ten minutes on a laptop",
            preset="modern",
            **_ONE_STACK,
        ),
        Recipe(
            name="multi30k",
            summary="captions of photos, German to English: trained in minutes on two cores",
            corpus="multi30k",
            preset="small",
            model={
                "d_model": 192,
                "d_ff": 768,
                "n_layers": 3,
                "source_embedding_dropout": 0.1,
                "target_embedding_dropout": 0.1,
                "residual_dropout": 0.1,
                "attention": "auto",
            },
            tokens="bpe",
            vocab_size=5000,
            batch_tokens=768,
            schedule="cosine",
            lr=2e-3,
            betas=(0.9, 0.99),
            weight_decay=0.1,
            warmup=150,
            max_grad_norm=1.0,
            dropout=(0.0, 0.1, 0.15, 0.2, 0.25),
            label_smoothing=0.1,
            epochs=9,
            keep_weights="last",
            valid_size=200,
            test_size=1000,
        ),
        Recipe(
            name="everyday",
            summary="short everyday sentences, German to English: half an hour on two cores",
            corpus="everyday_de_en",
            preset="small",
            model={
                "d_model": 160,
                "d_ff": 640,
                "n_layers": 3,
                "source_embedding_dropout": 0.1,
                "target_embedding_dropout": 0.1,
                "residual_dropout": 0.1,
                "attention": "auto",
            },
            tokens="bpe",
            vocab_size=3500,
            shared_vocabulary=True,
            batch_tokens=768,
            schedule="cosine",
            lr=2e-3,
            betas=(0.9, 0.99),
            weight_decay=0.1,
            warmup=150,
            max_grad_norm=1.0,
            dropout=(0.0, 0.0, 0.05, 0.1),
            label_smoothing=0.1,
            epochs=11,
            keep_weights="last",
            valid_size=500,
            test_size=2000,
        ),
    )
}
GRAMMAR_PAIRS = 60_000  # taken from a grammar by a recipe that was made for another corpus

# What the published systems did otherwise; their bugs are described in injected_bugs.py. Nothing in
# `naive_mt` changes what it learns, so it is trained as it was released.
AS_RELEASED: dict[str, dict[str, Any]] = {
    "naive_mt": {},
    "fastai_qa": {"bugs": ("positions_without_width", "embeddings_from_normal")},
    "fastestimator_ted": {"keep_weights": "last"},
    "einsum_scratch": {"bugs": ("scores_by_width", "dropout_after_norm")},
    "wmt14_de_en": {"bugs": ("encoder_without_dropout",), "warmup": 10},
}


def load_recipe(name: str, *, variant: Literal["fixed", "as_released"] = "fixed") -> Recipe:
    """The recipe called ``name``, with the published system's bugs fixed, or as it was released.

    Raises:
        CourseError: there is none of that name.
    """
    if name not in RECIPES:
        close = did_you_mean(name, RECIPES)
        raise CourseError(f"recipe must be one of {', '.join(RECIPES)}, got {name!r}{close}")
    recipe = RECIPES[name]
    if variant == "fixed":
        return recipe
    if name not in AS_RELEASED:
        raise CourseError(
            f"only {', '.join(AS_RELEASED)} have a variant as_released, got {name!r}: "
            "it is the course's own"
        )
    return replace(recipe, **AS_RELEASED[name])


def with_corpus(recipe: Recipe, name: str) -> Recipe:
    """The recipe on a corpus; of another grammar, which is endless, at most ``GRAMMAR_PAIRS``."""
    size = recipe.train_size
    if name.startswith("grammar_") and name != recipe.corpus:
        size = min(size or GRAMMAR_PAIRS, GRAMMAR_PAIRS)
    return replace(recipe, corpus=name, train_size=size)
