"""01.positional_encoding: Add the encoding to a batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.engine.adapters import WrongResult, compare_last_dropout, require_module
from course_lib.checks.engine.call import Answer
from course_lib.checks.engine.compare import Difference, answers_differ
from course_lib.checks.items.dropout_misconceptions import (
    DROPS_ALWAYS,
    DROPS_BEFORE_THE_SUM,
    add_wrong_rates,
)
from course_lib.model import positions


def _use_encoding(
    make: Callable[..., nn.Module],
    x: Tensor,
    *,
    init: dict[str, Any],
    positional: tuple[Any, ...] = (),
    train: bool = False,
    look: str = "output",
    first: Tensor | None = None,
) -> Any:
    """Create the module and call it.

    Args:
        make: the learner's class.
        x: (batch, seq, d_model).
        init: keyword arguments of the constructor.
        positional: positional arguments of the constructor.
        train: training mode; otherwise evaluation mode.
        look: "output"; or "inside" for its trainable parameters and its forward hooks; or
            "bfloat16" or "float16" for the dtype of its output after conversion, and its numbers.
            A table that isn't converted isn't moved to a GPU either.
        first: what the module is called with before.
    """
    module = require_module(make(*positional, **init)).train(train)
    if first is not None:
        module(first)
    if look == "inside":
        hook_calls: list[int] = []
        module.register_forward_hook(lambda *_: hook_calls.append(1))
        module(x)
        trainable = sum(p.numel() for p in module.parameters() if p.requires_grad)
        return {"trainable parameters": trainable, "calls of the forward hook": len(hook_calls)}
    if look != "output":
        dtype: torch.dtype = getattr(torch, look)
        output = module.to(dtype)(x.to(dtype))
        if not isinstance(output, Tensor):
            raise WrongResult(f"expected a tensor, got a value of type {type(output).__name__}")
        return {"dtype of the output": str(output.dtype), "numbers": output.float()}
    return module(x)


def _encode(x: Tensor, about: str, *, gradients: bool = False, **kwargs: Any) -> Call:
    """A call of a module for up to 50 tokens of 8 numbers, without dropout."""
    init = {"d_model": 8, "dropout": 0.0, "max_len": 50}
    return Call((x,), {"init": init, **kwargs}, about=about, gradients=gradients)


def _dropped(draw: Draw, *positional: float, about: str, **init: float) -> list[Call]:
    x = draw.normal(4, 40, 32)
    kwargs = {"positional": positional, "init": init}
    return [Call((x,), {**kwargs, "train": train}, about=about) for train in (False, True)]


def _nearly_equal(
    calls: Sequence[Call], expected: Sequence[Answer], answers: Sequence[Answer]
) -> Difference | None:
    """In float32 the angles of distant positions are inexact."""
    return answers_differ(expected[0], answers[0], tolerance=1e-2)


item = Item(
    "01.positional_encoding",
    reference=positions.PositionalEncoding,
    use=_use_encoding,
    tolerance=1e-4,
    probes=[
        Probe(
            "each token gets the encoding of its position, the same in every sentence",
            lambda draw: [
                _encode(draw.normal(2, 5, 8), "two sentences of five tokens"),
                _encode(torch.zeros(3, 4, 8), "all vectors zero"),
            ],
        ),
        Probe(
            "it works for any batch size and any length up to max_len",
            lambda draw: [
                _encode(draw.normal(1, 1, 8), "a single token"),
                _encode(draw.normal(6, 6, 8), "as many sentences as tokens"),
                _encode(draw.normal(2, 50, 8), "max_len tokens"),
                _encode(
                    draw.normal(2, 7, 8),
                    "a batch of 7 tokens after one of 3",
                    first=draw.normal(2, 3, 8),
                ),
                _encode(draw.strided(3, 7, 8), "a tensor that is not contiguous"),
                _encode(
                    draw.normal(1, 300, 4),
                    "dropout and max_len left at their defaults",
                    init={"d_model": 4},
                ),
            ],
        ),
        Probe(
            "dropout is applied to the sum, in training mode only",
            lambda draw: _dropped(draw, d_model=32, dropout=0.25, max_len=60, about="dropout 0.25"),
            compare=compare_last_dropout(0.25),
        ),
        Probe(
            "the dropout rate is 0.1 by default",
            lambda draw: _dropped(draw, d_model=32, about="no dropout given"),
            compare=compare_last_dropout(0.1, tolerance=1e-2),
        ),
        Probe(
            "max_len is 5000 by default",
            lambda draw: [_encode(draw.normal(1, 5000, 2), "5000 tokens", init={"d_model": 2})],
            compare=_nearly_equal,
        ),
        Probe(
            "the arguments are d_model, dropout and max_len, in this order",
            lambda draw: [
                _encode(
                    draw.normal(2, 5, 8),
                    "d_model 8, dropout 0.0, max_len 50, without their names",
                    init={},
                    positional=(8, 0.0, 50),
                )
            ],
        ),
        Probe(
            "the table is not trained, and forward hooks run",
            lambda draw: [
                _encode(draw.normal(2, 5, 8), "evaluation mode", look="inside"),
                _encode(draw.normal(2, 5, 8), "the gradient of the input", gradients=True),
            ],
        ),
        Probe(
            "converted to half precision, it returns half precision",
            lambda draw: [
                _encode(torch.zeros(2, 5, 8), f"the module converted to {look}", look=look)
                for look in ("bfloat16", "float16")
            ],
        ),
    ],
    hints=(
        "The table is the same for all sentences, so compute it once, in the constructor. How "
        "many of its rows does a batch need?",
        "In __init__, register the table as a buffer: .to() then moves it, and no optimizer "
        "trains it. Create a dropout layer there, too. In forward, add as many rows as a "
        "sentence has tokens, and apply dropout to the sum.",
        'In some other module, self.register_buffer("days", torch.ones(7), persistent=False) '
        "makes self.days, a tensor that .to() moves and that isn't saved with the weights. In "
        "forward, take a slice of your table: which of the sizes of x says how many rows?",
    ),
)


class _Encoding(nn.Module):
    """A correct module; each misconception below changes one thing."""

    table: Tensor

    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 5000) -> None:
        super().__init__()
        self.keep(self.make_table(max_len, d_model))
        self.dropout = nn.Dropout(dropout)

    def make_table(self, max_len: int, d_model: int) -> Tensor:
        return positions.sinusoidal_positions(max_len, d_model)

    def keep(self, table: Tensor) -> None:
        self.register_buffer("table", table, persistent=False)

    def rows(self, x: Tensor) -> Tensor:
        return self.table[: x.size(1)]

    def add(self, x: Tensor, rows: Tensor) -> Tensor:
        return x + rows

    def drop(self, total: Tensor) -> Tensor:
        return self.dropout(total)

    def forward(self, x: Tensor) -> Tensor:
        return self.drop(self.add(x, self.rows(x)))


@item.misconception(
    "You add the whole table, so only sentences of exactly max_len tokens work.",
    why="The shapes then fit only if a sentence has exactly max_len tokens. One published "
    "system has this bug, and fails at every length but 128.",
    hint="How many rows of the table does a batch of shape (batch, seq, d_model) need?",
)
class AddsTheWholeTable(_Encoding):
    def rows(self, x: Tensor) -> Tensor:
        return self.table


@item.misconception(
    "You use the index of the sentence in the batch as the position: all tokens of a sentence get "
    "the same encoding.",
    why="Older code has the axes (seq, batch, d_model). Here they are (batch, seq, d_model), and "
    "nothing raises an error. If a batch contained the same sentence twice, the two copies would "
    "get different results.",
    hint="Which axis of x runs over the tokens of a sentence?",
)
class BatchForPosition(_Encoding):
    def rows(self, x: Tensor) -> Tensor:
        return self.table[: x.size(0), None]


@item.misconception(
    "You take as many rows of the table as there are sentences, not tokens.",
    why="Older code has the axes (seq, batch, d_model), where x.size(0) is the number of tokens. "
    "Here it's the batch size. If that isn't equal to the length, there's usually an error; in a "
    "batch of one, all tokens get the encoding of position 0.",
    hint="Which axis of x runs over the tokens of a sentence?",
)
class AsManyRowsAsSentences(_Encoding):
    def rows(self, x: Tensor) -> Tensor:
        return self.table[: x.size(0)]


@item.misconception(
    "You take a single row of the table, so all tokens get the same encoding.",
    why="An index picks the one row after the last token; a slice takes all rows before it. At "
    "max_len tokens there's no such row, and you get an error.",
    hint="What is the shape of table[5], and what is the shape of table[:5]?",
)
class OneRowForAll(_Encoding):
    def rows(self, x: Tensor) -> Tensor:
        return self.table[x.size(1)]


@item.misconception(
    "Your table is a parameter, so it would be trained.",
    why="The encodings are computed from a formula. If the optimizer changed them, a shift would "
    "no longer be a rotation. Learned positions exist, but this task asks for fixed ones.",
    hint="How can a tensor belong to a module without being trained?",
)
class TrainsTheTable(_Encoding):
    def keep(self, table: Tensor) -> None:
        self.table = nn.Parameter(table)


@item.misconception(
    "Your encodings stay in float32 when the module is converted to half precision.",
    why=".to() moves parameters and buffers, but neither a plain attribute nor a table that "
    "forward computes anew. In half precision the sum then has the wrong dtype. On a GPU, a table "
    "that's still on the CPU raises an error, unless forward moves it.",
    hint="Where does forward get the table from? How do you tell a module that a tensor belongs "
    "to it?",
)
class LeavesTheTableBehind(_Encoding):
    def keep(self, table: Tensor) -> None:
        self.table = table


@item.misconception(
    "In half precision your sum is in float32, not in the module's dtype.",
    why="In half precision the next layer raises an error, since its weights have another dtype "
    "than the sum.",
    hint="The table has the dtype of the module. Where does your code convert to float32, or "
    "create a tensor without naming a dtype?",
)
class AddsInFloat32(_Encoding):
    def add(self, x: Tensor, rows: Tensor) -> Tensor:
        return x.float() + rows.float()


@item.misconception(
    "Your class has a __call__ of its own, so forward hooks never run.",
    why="A forward hook is a function that PyTorch calls each time a module has run; lesson "
    "07 uses hooks to look inside a model. It's nn.Module's own __call__ that runs "
    "forward and then the hooks. If your class overrides it, no hook is called.",
    hint="Which method of a module should contain its computation?",
)
class OverridesCall(_Encoding):
    def __call__(self, x: Tensor) -> Tensor:
        return self.forward(x)


@item.misconception(**DROPS_BEFORE_THE_SUM)
class DropsBeforeTheSum(_Encoding):
    def forward(self, x: Tensor) -> Tensor:
        return self.add(self.drop(x), self.rows(x))


@item.misconception(
    "Nothing is dropped in training mode.",
    why="With dropout, a model memorises its training sentences less easily (lesson 03).",
    hint="Is dropout called in training mode, with the right rate, and do you use what it returns?",
)
class DropsNothing(_Encoding):
    def drop(self, total: Tensor) -> Tensor:
        return total


@item.misconception(**DROPS_ALWAYS)
class DropsAlways(_Encoding):
    def drop(self, total: Tensor) -> Tensor:
        return F.dropout(total, self.dropout.p)


item.spelling_with("DropsAlways", drop=lambda module, total: F.dropout(total))
add_wrong_rates(item, _Encoding, call="PositionalEncoding(d_model)")


@item.misconception(
    "Your table has fewer than 5000 rows if no max_len is given.",
    why="A sentence with more tokens than rows then raises an error in models that rely on the "
    "default.",
    hint="How many rows does your table have after PositionalEncoding(d_model)? Is it max_len, "
    "with its default of 5000, that decides this?",
)
class ShortTableByDefault(_Encoding):
    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 512) -> None:
        super().__init__(d_model, dropout, max_len)


@item.misconception(
    "Your constructor takes max_len before dropout.",
    why="Calls such as PositionalEncoding(512, 0.1, 5000) then ask for a table of 0.1 rows and a "
    "dropout rate of 5000.",
    hint="In which order does your constructor take its arguments, and in which order does the "
    "task list them?",
)
class TakesMaxLenFirst(_Encoding):
    def __init__(self, d_model: int, max_len: int = 5000, dropout: float = 0.1) -> None:
        super().__init__(d_model, dropout, max_len)


@item.misconception(
    "Your code modifies its input in place.",
    why="Operations in place, such as x += … or add_, change the caller's tensor. If you call the "
    "module twice with the same x, the encoding is added twice.",
    hint="Create a new tensor for the sum.",
)
class EditsItsInput(_Encoding):
    def add(self, x: Tensor, rows: Tensor) -> Tensor:
        x += rows
        return x


@item.misconception(
    "Your first token gets the encoding of position 1.",
    why="Positions count from 0. The encoding of position 0 is never used, and for a sentence of "
    "max_len tokens one row is missing.",
    hint="Which position does row 0 of your table belong to, and which row does the first token "
    "get?",
)
class StartsAtOne(_Encoding):
    def rows(self, x: Tensor) -> Tensor:
        return self.table[1 : x.size(1) + 1]


@item.misconception(
    "You multiply by the encoding instead of adding it.",
    why="Wherever a sine is 0, the product is 0 whatever the token is. The paper adds the two.",
    hint="Which operation combines embedding and positional encoding in the paper?",
)
class Multiplies(_Encoding):
    def add(self, x: Tensor, rows: Tensor) -> Tensor:
        return x * rows


@item.misconception(
    "You multiply x by √d_model before you add the encoding.",
    why="The factor belongs to the token embedding, which you'll write in lesson 02. Many "
    "implementations have it here. In this course x would be multiplied twice.",
    hint="What should happen to x before the sum?",
)
class ScalesX(_Encoding):
    def add(self, x: Tensor, rows: Tensor) -> Tensor:
        return x * math.sqrt(x.size(-1)) + rows


@item.misconception(
    "You return the encodings alone: x isn't part of your result.",
    why="Without x, all sentences of the same length are the same to the model.",
    hint="What should the encodings be added to?",
)
class ForgetsX(_Encoding):
    def add(self, x: Tensor, rows: Tensor) -> Tensor:
        return rows.expand_as(x)


@item.misconception(
    "No gradient flows from your result back to x.",
    why="`.detach()`, `.data` and `torch.no_grad()` stop the gradient, so the embeddings would "
    "never be trained. A buffer isn't trained anyway: it needs none of them.",
    hint="Which line of your forward cuts the path from the result back to x?",
)
class CutsTheGradient(_Encoding):
    def add(self, x: Tensor, rows: Tensor) -> Tensor:
        return x.detach() + rows


@item.misconception(
    "Your table holds all sines on the left and all cosines on the right.",
    why="These are the same columns in a different order. Weights trained with one order don't "
    "work with the other, and this course uses the paper's.",
    hint="Do you use your sinusoidal_positions, and does it interleave its columns?",
)
class EndToEndTable(_Encoding):
    def make_table(self, max_len: int, d_model: int) -> Tensor:
        return positions.sinusoidal_positions(max_len, d_model, layout="concatenated")
