"""12.greedy_decode: Word by word, until the end."""

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
    room: int = 30,
    **options: Any,
) -> Call:
    """A batch whose rows end after so many tokens; ids are those of begin, end and pad."""
    bos_id, eos_id, pad_id = ids
    model = draw_model(draw, *ends, pad_id=pad_id, max_len=room)
    source = draw_sources(draw, len(ends), draw.integer(4, 6), pad_id=pad_id, left=left)
    return Call((model, source, bos_id, eos_id, max_len), options, about)


item = Item(
    "12.greedy_decode",
    reference=decoding.greedy_decode,
    use=use_decoder,
    probes=[
        Probe(
            "each token is the likeliest one after all that was said",
            lambda draw: [
                _call(draw, 6, about="one sentence of 6 tokens, the end included"),
                _call(draw, 5, 5, 5, about="three sentences of 5 tokens"),
            ],
        ),
        Probe(
            "a row that has ended says nothing more: pads stand behind its end",
            lambda draw: [
                _call(draw, 2, 5, 1, 4, about="rows of 2, 5, 1 and 4 tokens"),
                _call(draw, 6, 3, 3, left=True, about="rows of 6, 3 and 3, sources padded left"),
            ],
        ),
        Probe(
            "nobody says more than max_len tokens",
            lambda draw: [
                _call(draw, 3, 0, 5, max_len=6, about="one of three rows never ends, max_len 6"),
                _call(draw, 0, 0, max_len=7, room=7, about="nobody ends, max_len is the model's"),
                _call(draw, 0, 1, max_len=1, about="max_len 1"),
                _call(draw, 4, 4, max_len=4, about="all end with the last token allowed"),
            ],
        ),
        Probe(
            "any ids",
            lambda draw: [
                _call(draw, 4, 2, 6, ids=(7, 0, 5), about="begin 7, end 0, pad 5"),
                _call(draw, 3, 0, ids=(4, 8, 1), about="begin 4, end 8, pad 1"),
            ],
        ),
        Probe(
            "dropout and gradients are off meanwhile, and the mode is put back",
            lambda draw: [
                _call(
                    draw,
                    4,
                    2,
                    train=train,
                    watch=["with dropout", "with gradients", "in training afterwards"],
                    about=f"a model that comes in {'training' if train else 'evaluation'} mode",
                )
                for train in (True, False)
            ],
        ),
        Probe(
            "the source is encoded once, and the model is left in peace when all have ended",
            lambda draw: [
                _call(
                    draw,
                    5,
                    3,
                    watch=["runs of the encoder", "asked after the end"],
                    about="rows of 5 and 3 tokens",
                )
            ],
        ),
    ],
    hints=(
        "Encode once, then a loop: ask for the logits after what was said, take the likeliest "
        "token of each row, put it behind. What ends the loop, and what becomes of a row that is "
        "done earlier?",
        "Begin with a column (B, 1) of bos_id. Keep a boolean (B,) of the rows that have ended; "
        "their next token is the pad. At most max_len steps, fewer if all have ended. "
        "`with evaluating(model):` around it all.",
        "logits = model.decode(said, memory, source)[:, ...]\n"
        "token = logits.argmax(-1).masked_fill(ended, ...)\n"
        "said = torch.cat((said, token[:, None]), dim=...); ended |= token == ...\n"
        "and in the end return said without its first column.",
    ),
)


def _last_place(logits: Tensor) -> Tensor:
    return logits[:, -1].argmax(dim=-1)


def _write(
    model: Transformer,
    source: Tensor,
    bos_id: int,
    eos_id: int,
    max_len: int,
    *,
    pick: Callable[[Tensor], Tensor] = _last_place,
    done: Callable[[Tensor], Tensor] = torch.all,
    fill: int | None = None,
    window: int = 0,
    again: bool = False,
) -> Tensor:
    """Greedy decoding with a part replaced, (B, 1 + T), in whatever mode the model is.

    Args:
        pick: from logits (B, T, V) to tokens (B,).
        done: from "this row has ended" (B,) to whether to stop.
        fill: what stands behind an end; by default the pad.
        window: how many of the latest tokens are read; 0 for all.
        again: whether the whole model runs at each step.
    """
    memory = None if again else model.encode(source)
    said = source.new_full((len(source), 1), bos_id)
    ended = torch.zeros(len(source), dtype=torch.bool)
    for _ in range(max_len):
        read = said[:, -window:]
        token = pick(model(source, read) if memory is None else model.decode(read, memory, source))
        token = token.masked_fill(ended, model.config.pad_id if fill is None else fill)
        said = torch.cat((said, token[:, None]), dim=1)
        ended = ended | (token == eos_id)
        if done(ended):
            break
    return said


def _without_begin(model: Transformer, *arguments: Any, **options: Any) -> Tensor:
    with evaluating(model):
        return _write(model, *arguments, **options)[:, 1:]


@item.misconception(
    "A row that has ended goes on talking behind its end.",
    why="What a model says after the end means nothing, but BLEU counts it: perfect translations "
    "get a poor score.",
    hint="Which rows may still say something at a step?",
)
def talks_after_the_end(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    with evaluating(model):
        memory = model.encode(source)
        said = source.new_full((len(source), 1), bos_id)
        ended = torch.zeros(len(source), dtype=torch.bool)
        while said.size(1) <= max_len and not ended.all():
            token = _last_place(model.decode(said, memory, source))
            said, ended = torch.cat((said, token[:, None]), dim=1), ended | (token == eos_id)
    return said[:, 1:]


@item.misconception(
    "The whole batch stops as soon as one row has ended.",
    why="The others are cut off in the middle of their sentence.",
    hint="One of them, or all of them?",
)
def stops_with_the_first(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    return _without_begin(model, source, bos_id, eos_id, max_len, done=torch.any)


@item.misconception(
    "Your loop ends only if all rows say the end at the same step.",
    why="A row that has ended is forgotten at the next step: it talks on, and so does everybody, "
    "up to max_len.",
    hint="Who remembers that a row has ended?",
)
def all_must_end_at_once(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    with evaluating(model):
        memory = model.encode(source)
        said = source.new_full((len(source), 1), bos_id)
        for _ in range(max_len):
            token = _last_place(model.decode(said, memory, source))
            said = torch.cat((said, token[:, None]), dim=1)
            if (token == eos_id).all():
                break
    return said[:, 1:]


@item.misconception(
    "Your loop always takes max_len steps, and fills up with pads.",
    why="The answer is right as far as it goes, but each step costs a run of the decoder, and T "
    "is to be the length of the longest translation.",
    hint="When is there nobody left to write for?",
)
def always_to_the_cap(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    return _without_begin(
        model, source, bos_id, eos_id, max_len, done=lambda ended: torch.tensor(False)
    )


@item.misconception(
    "Your loop has no cap: it runs until every row has ended.",
    why="A model need never say the end, least of all an untrained one. Here your loop came to a "
    "stop only because the model had no more positions.",
    hint="Where does max_len stand in your code?",
)
def no_cap(model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int) -> Tensor:
    return _without_begin(model, source, bos_id, eos_id, 10_000)


@item.misconception(
    "Your cap counts the begin token: at most max_len − 1 tokens are said.",
    why="bos_id is given to the model, not said by it. max_len counts what is said.",
    hint="With max_len 1, how many tokens come out?",
)
def begin_counted(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    return _without_begin(model, source, bos_id, eos_id, max_len - 1)


@item.misconception(
    "Your answer still has the begin token in front.",
    why="It belongs to what the decoder reads, not to the translation.",
    hint="Which column is left out in the end?",
)
def begin_kept(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    with evaluating(model):
        return _write(model, source, bos_id, eos_id, max_len)


@item.misconception(
    "Your answer repeats the end token where pads are due.",
    why="A row ends once. What fills a batch up to a rectangle is the pad, model.config.pad_id.",
    hint="What is put behind a row that has ended?",
)
def end_repeated(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    return _without_begin(model, source, bos_id, eos_id, max_len, fill=eos_id)


@item.misconception(
    "Your decoder reads the latest token only, not all that was said.",
    why="Without a cache the model knows nothing of earlier calls: each word is chosen as if only "
    "the one before it had been said.",
    hint="What does decode get at step 3?",
)
def reads_the_latest_only(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    return _without_begin(model, source, bos_id, eos_id, max_len, window=1)


@item.misconception(
    "Every row gets the word of the last sentence.",
    why="The last place of the flattened logits is the last place of the last sentence. With a "
    "batch of one that goes unnoticed.",
    hint="Logits are (B, T, V). Which axis has a last place that you want?",
)
def last_of_the_flat_view(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    def pick(logits: Tensor) -> Tensor:
        return logits.flatten(0, 1)[-1].argmax().expand(len(logits))

    return _without_begin(model, source, bos_id, eos_id, max_len, pick=pick)


@item.misconception(
    "Dropout is on while your code translates.",
    why="The model comes as training has left it. Two calls would give two translations, and "
    "both are worse than they need be.",
    hint="`evaluating` is imported. What does it do?",
)
def dropout_left_on(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    with torch.no_grad():
        return _write(model, source, bos_id, eos_id, max_len)[:, 1:]


@item.misconception(
    "The model is in evaluation mode afterwards, though it came in training mode.",
    why="Whoever translates a few sentences between two epochs would train on without dropout.",
    hint="Leave things as you have found them.",
)
def mode_not_put_back(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    model.eval()
    return _without_begin(model, source, bos_id, eos_id, max_len)


@item.misconception(
    "Your code records gradients that nobody will ask for.",
    why="Every step keeps its numbers for a backward pass: memory grows with each word.",
    hint="What does `evaluating` switch off besides dropout?",
)
def gradients_recorded(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    training = model.training
    said = _write(model.eval(), source, bos_id, eos_id, max_len)[:, 1:]
    model.train(training)
    return said


@item.misconception(
    "Your code runs the encoder again for each word.",
    why="The source does not change, so neither does its memory. It is right, and slow.",
    hint="What of the model's work can be done before the loop?",
)
def encodes_again(
    model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
) -> Tensor:
    return _without_begin(model, source, bos_id, eos_id, max_len, again=True)
