"""12.greedy_decode: at each step the most probable token, until EOS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_lib import decoding
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.decoding.toy_model import draw_model, draw_sources, use_decoder
from course_lib.decoding import evaluating
from course_lib.model import Transformer

BOS, EOS = 1, 2


def _call(
    draw: Draw,
    *ends: int,
    max_len: int = 12,
    about: str = "",
    ids: tuple[int, int, int] = (BOS, EOS, 0),
    left: bool = False,
    limit: int = 30,
    **options: Any,
) -> Call:
    """A batch whose translations have these lengths; ``ids`` are BOS, EOS and padding."""
    bos_id, eos_id, pad_id = ids
    model = draw_model(draw, *ends, pad_id=pad_id, max_len=limit)
    source = draw_sources(draw, len(ends), draw.integer(4, 6), pad_id=pad_id, left=left)
    return Call((model, source, bos_id, eos_id, max_len), options, about)


item = Item(
    "12.greedy_decode",
    reference=decoding.greedy_decode,
    use=use_decoder,
    probes=[
        Probe(
            "each token is the most probable one, given the whole prefix",
            lambda draw: [
                _call(draw, 6, about="one sentence of 6 tokens, EOS included"),
                _call(draw, 5, 5, 5, about="three sentences of 5 tokens"),
            ],
        ),
        Probe(
            "after EOS a row has only padding",
            lambda draw: [
                _call(draw, 2, 5, 1, 4, about="rows of 2, 5, 1 and 4 tokens"),
                _call(draw, 6, 3, 3, left=True, about="rows of 6, 3 and 3, sources padded left"),
            ],
        ),
        Probe(
            "no row is longer than max_len",
            lambda draw: [
                _call(draw, 3, 0, 5, max_len=6, about="one of three rows never ends, max_len 6"),
                _call(draw, 0, 0, max_len=7, limit=7, about="no row ends, max_len is the model's"),
                _call(draw, 0, 1, max_len=1, about="max_len 1"),
                _call(draw, 4, 4, max_len=4, about="all rows end exactly at max_len"),
            ],
        ),
        Probe(
            "any ids",
            lambda draw: [
                _call(draw, 4, 2, 6, ids=(7, 0, 5), about="BOS 7, EOS 0, pad 5"),
                _call(draw, 3, 0, ids=(4, 8, 1), about="BOS 4, EOS 8, pad 1"),
            ],
        ),
        Probe(
            "dropout and gradients are off during decoding, and the model's mode is restored",
            lambda draw: [
                _call(
                    draw,
                    4,
                    2,
                    train=train,
                    watch=["with dropout", "with gradients", "in training mode afterwards"],
                    about=f"a model in {'training' if train else 'evaluation'} mode",
                )
                for train in (True, False)
            ],
        ),
        Probe(
            "the source is encoded once, and the decoder isn't called after all rows have ended",
            lambda draw: [
                _call(
                    draw,
                    5,
                    3,
                    watch=["runs of the encoder", "called after all have ended"],
                    about="rows of 5 and 3 tokens",
                )
            ],
        ),
    ],
    hints=(
        "Encode once, then loop: compute the logits after the tokens so far, take the most "
        "probable token of each row, append it. What ends the loop, and what happens to a row that "
        "ends earlier?",
        "Start with a column (B, 1) of bos_id. Keep a boolean (B,) of the rows that have ended; "
        "their next token is padding. Take at most max_len steps, fewer if all rows have ended. "
        "Put `with evaluating(model):` around it all.",
        "logits = model.decode(generated, memory, source)[:, ...]\n"
        "token = logits.argmax(-1).masked_fill(ended, ...)\n"
        "generated = torch.cat((generated, token[:, None]), dim=...); ended |= token == ...\n"
        "and at the end return generated without its first column.",
    ),
)


def _last_position(logits: Tensor) -> Tensor:
    return logits[:, -1].argmax(dim=-1)


def _generate(
    model: Transformer,
    source: Tensor,
    bos_id: int,
    eos_id: int,
    max_len: int,
    *,
    pick: Callable[[Tensor], Tensor] = _last_position,
    done: Callable[[Tensor], Tensor] = torch.all,
    fill: int | None = None,
    window: int = 0,
    encode_each_step: bool = False,
) -> Tensor:
    """Greedy decoding with one part replaced, (B, 1 + T); the model's mode is left alone.

    Args:
        pick: from logits (B, T, V) to tokens (B,).
        done: from "this row has ended" (B,) to whether to stop.
        fill: what follows EOS; by default padding.
        window: how many of the last tokens the decoder gets; 0 for all.
        encode_each_step: whether the encoder runs again at each step.
    """
    memory = None if encode_each_step else model.encode(source)
    generated = source.new_full((len(source), 1), bos_id)
    ended = torch.zeros(len(source), dtype=torch.bool)
    for _ in range(max_len):
        visible = generated[:, -window:]
        token = pick(
            model(source, visible) if memory is None else model.decode(visible, memory, source)
        )
        token = token.masked_fill(ended, model.config.pad_id if fill is None else fill)
        generated = torch.cat((generated, token[:, None]), dim=1)
        ended = ended | (token == eos_id)
        if done(ended):
            break
    return generated


def _without_bos(model: Transformer, *arguments: Any, **options: Any) -> Tensor:
    with evaluating(model):
        return _generate(model, *arguments, **options)[:, 1:]


@item.misconception(
    "A row that has ended goes on generating after EOS.",
    why="Whatever a model predicts after EOS is meaningless, but BLEU counts it: perfect "
    "translations get a poor score.",
    hint="Which rows may still generate a token at this step?",
)
def talks_after_the_end(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    with evaluating(model):
        memory = model.encode(source)
        generated = source.new_full((len(source), 1), bos_id)
        ended = torch.zeros(len(source), dtype=torch.bool)
        while generated.size(1) <= max_len and not ended.all():
            token = _last_position(model.decode(generated, memory, source))
            generated, ended = (
                torch.cat((generated, token[:, None]), dim=1),
                ended | (token == eos_id),
            )
    return generated[:, 1:]


@item.misconception(
    "The whole batch stops as soon as one row has ended.",
    why="The others are cut off in the middle of their sentence.",
    hint="Should one row have ended, or all of them?",
)
def stops_with_the_first(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    return _without_bos(model, source, bos_id, eos_id, max_len, done=torch.any)


@item.misconception(
    "Your loop ends only if all rows generate EOS at the same step.",
    why="A row that has ended is forgotten at the next step: it goes on generating, and so does "
    "every other row, up to max_len.",
    hint="Where do you keep track of which rows have ended?",
)
def all_must_end_at_once(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    with evaluating(model):
        memory = model.encode(source)
        generated = source.new_full((len(source), 1), bos_id)
        for _ in range(max_len):
            token = _last_position(model.decode(generated, memory, source))
            generated = torch.cat((generated, token[:, None]), dim=1)
            if (token == eos_id).all():
                break
    return generated[:, 1:]


@item.misconception(
    "Your loop always takes max_len steps and fills up with padding.",
    why="The tokens are right, but each step costs a run of the decoder, and T should be the "
    "length of the longest translation.",
    hint="When are there no active rows left?",
)
def always_to_max_len(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    return _without_bos(
        model, source, bos_id, eos_id, max_len, done=lambda ended: torch.tensor(False)
    )


@item.misconception(
    "Your loop ignores max_len: it runs until every row has ended.",
    why="A model may never generate EOS, especially an untrained one. Here your loop stopped only "
    "because the model ran out of positions.",
    hint="Where does your code use max_len?",
)
def no_max_len(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    return _without_bos(model, source, bos_id, eos_id, 10_000)


@item.misconception(
    "You count the BOS token towards max_len: at most max_len − 1 tokens are generated.",
    why="BOS is an input, and isn't generated. max_len counts generated tokens.",
    hint="With max_len 1, how many tokens come out?",
)
def begin_counted(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    return _without_bos(model, source, bos_id, eos_id, max_len - 1)


@item.misconception(
    "Your result still starts with the BOS token.",
    why="It's part of the decoder's input, not of the translation.",
    hint="Which column do you have to leave out at the end?",
)
def begin_kept(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    with evaluating(model):
        return _generate(model, source, bos_id, eos_id, max_len)


@item.misconception(
    "Your result repeats EOS where there should be padding.",
    why="A row ends once. What fills up a batch is the pad token, model.config.pad_id.",
    hint="What do you append to a row that has ended?",
)
def end_repeated(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    return _without_bos(model, source, bos_id, eos_id, max_len, fill=eos_id)


@item.misconception(
    "Your decoder gets only the last token, not the whole prefix.",
    why="Without a cache the model keeps nothing from earlier calls: each token is chosen as if "
    "only the one before it had been generated.",
    hint="What do you pass to decode at step 3?",
)
def reads_only_the_last_token(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    return _without_bos(model, source, bos_id, eos_id, max_len, window=1)


@item.misconception(
    "Every row gets the token of the last sentence.",
    why="The last row of the flattened logits is the last position of the last sentence. With a "
    "batch of one you wouldn't notice.",
    hint="Logits are (B, T, V). Along which axis do you want the last entry?",
)
def last_of_the_flat_view(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    def pick(logits: Tensor) -> Tensor:
        return logits.flatten(0, 1)[-1].argmax().expand(len(logits))

    return _without_bos(model, source, bos_id, eos_id, max_len, pick=pick)


@item.misconception(
    "Dropout is on while your code translates.",
    why="The model comes as training left it. Two calls would give two different translations, "
    "both worse than necessary.",
    hint="`evaluating` is imported. What does it do?",
)
def dropout_left_on(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    with torch.no_grad():
        return _generate(model, source, bos_id, eos_id, max_len)[:, 1:]


@item.misconception(
    "The model is in evaluation mode afterwards, although it came in training mode.",
    why="If you translate a few sentences between two epochs, the rest of training would run "
    "without dropout.",
    hint="Which mode was the model in when your code got it?",
)
def mode_not_put_back(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    model.eval()
    return _without_bos(model, source, bos_id, eos_id, max_len)


@item.misconception(
    "Your code records a graph for gradients that nobody needs.",
    why="Every step keeps its activations for a backward pass: memory use grows with each token.",
    hint="What does `evaluating` switch off besides dropout?",
)
def gradients_recorded(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    training = model.training
    generated = _generate(model.eval(), source, bos_id, eos_id, max_len)[:, 1:]
    model.train(training)
    return generated


@item.misconception(
    "Your code runs the encoder again for each token.",
    why="The source doesn't change, so neither does its memory. The result is right, but it takes "
    "longer.",
    hint="Which part of the model's work can be done before the loop?",
)
def encodes_again(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    return _without_bos(model, source, bos_id, eos_id, max_len, encode_each_step=True)
