"""A recipe is everything that decides a training run, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from course_lib.errors import CourseError


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What to train, on what, and how.

    ``preset`` and ``model`` (changed fields) give the configuration; vocabulary sizes come from the
    corpus. Training lasts ``epochs`` passes over ``train_size`` pairs.
    """

    name: str
    summary: str  # one line for --help
    corpus: str
    preset: str
    model: dict[str, Any] = field(default_factory=dict)

    train_size: int = 2
    batch_tokens: int = 4096  # cells of a batch's longer side, pads counted
    unknown_word: bool = True  # whether the vocabularies have <unk>

    optimizer: Literal["sgd", "adamw"] = "adamw"
    momentum: float = 0.0  # of sgd
    betas: tuple[float, float] = (0.9, 0.98)  # of adamw (section 5.3)
    weight_decay: float = 0.0
    schedule: Literal["constant", "inverse_sqrt", "cosine"] = "constant"
    lr: float = 1e-3  # of a constant schedule, and the peak of a cosine; the paper's has its own
    warmup: int = 1  # steps
    label_smoothing: float = 0.0
    clip: float | None = None  # largest gradient norm

    epochs: int = 1
    valid_size: int = 0  # pairs for validation after each epoch
    test_size: int = 0  # pairs for the final, free-running test of each split

    def __post_init__(self) -> None:
        for name in ("train_size", "batch_tokens", "warmup", "epochs"):
            if getattr(self, name) < 1:
                raise CourseError(f"{name} must be at least 1, got {getattr(self, name)}")


RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="naive_mt",
            summary="two sentences learnt by heart (blog, 2022): 30 epochs of one batch",
            corpus="two_sentences",
            preset="naive_mt",
            unknown_word=False,
            optimizer="sgd",
            lr=1e-3,
            momentum=0.99,
            epochs=30,
        ),
        Recipe(
            name="small",
            summary="the course's own translator, a few minutes on a laptop",
            corpus="grammar_de_en",
            preset="small",
            train_size=100_000,
            batch_tokens=1024,
            schedule="cosine",
            lr=3e-3,
            warmup=200,
            clip=1.0,
            epochs=2,
            valid_size=200,
            test_size=500,
        ),
    )
}


def load_recipe(name: str) -> Recipe:
    """The recipe called ``name``.

    Raises:
        CourseError: there is none of that name.
    """
    if name not in RECIPES:
        raise CourseError(f"recipe must be one of {', '.join(RECIPES)}, got {name!r}")
    return RECIPES[name]
