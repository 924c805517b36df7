"""13.greedy_decode: at each step the most probable token, until EOS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_lib import decoding
from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.items.decoding.shared_switches import (
    add_encodes_again,
    add_mode_not_put_back,
)
from course_lib.checks.items.decoding.toy_model import draw_model, draw_sources, use_decoder
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
    pad_at: int = 0,
    mean: float = 0.0,
    **options: Any,
) -> Call:
    """A batch whose translations have these lengths; ``ids`` are BOS, EOS and padding."""
    bos_id, eos_id, pad_id = ids
    model = draw_model(draw, *ends, pad_id=pad_id, max_len=limit, mean=mean) | {"pad_at": pad_at}
    source = draw_sources(draw, len(ends), draw.integer(4, 6), pad_id=pad_id, left=left)
    return Call((model, source, bos_id, eos_id, max_len), options, about=about)


item = Item(
    "13.greedy_decode",
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
            "only EOS ends a row: padding that the model predicts is a token like any other",
            lambda draw: [
                _call(draw, 5, 3, pad_at=2, about="rows of 5 and 3 tokens, the second is a pad"),
                _call(draw, 4, pad_at=1, about="one row of 4 tokens, the first is a pad"),
            ],
        ),
        Probe(
            "any ids, and logits of any size",
            lambda draw: [
                _call(draw, 4, 2, 6, ids=(7, 0, 5), about="BOS 7, EOS 0, pad 5"),
                _call(draw, 3, 0, ids=(4, 8, 1), about="BOS 4, EOS 8, pad 1"),
                _call(draw, 3, 5, mean=-50.0, about="logits around -50"),
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
        "Small examples: if ended is False True, the tokens are 7 4 and the padding is 0, "
        "tokens.masked_fill(ended, 0) is 7 0. a | b is True where a is, or b, or both, so a row "
        "that has ended can stay ended. torch.cat((x, y), dim=1) puts the columns of y behind "
        "those of x, and tokens[:, None] makes a column of the new tokens. Of all T positions of "
        "the logits, which one predicts the next token?",
    ),
)


@item.switchable
def decoding_with(on: frozenset[str]) -> Callable[..., Tensor]:
    """``greedy_decode`` with these misconceptions."""

    def answer(
        model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
    ) -> Tensor:
        training = model.training
        if "dropout_left_on" not in on:
            model.eval()
        with torch.set_grad_enabled("gradients_recorded" in on):
            generated = generate(model, source, bos_id, eos_id, max_len)
        if "mode_not_put_back" not in on:
            model.train(training or "always_training_afterwards" in on)
        if on & {"end_left_out", "end_cut_off"}:
            generated = generated.masked_fill(generated == eos_id, model.config.pad_id)
        if "end_cut_off" in on and (generated[:, -1] == model.config.pad_id).all():
            generated = generated[:, :-1]
        return generated if "begin_kept" in on else generated[:, 1:]

    def generate(
        model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int
    ) -> Tensor:
        pad_id, memory = model.config.pad_id, None
        generated = source.new_full((len(source), 1), bos_id)
        ended = torch.zeros(len(source), dtype=torch.bool)
        length = None  # once all rows have ended
        for _ in range(steps(max_len)):
            if memory is None or "encodes_again" in on:
                memory = model.encode(source)
            visible = generated[:, -1:] if "reads_only_the_last_token" in on else generated
            token = chosen(model.decode(visible, memory, source), pad_id)
            if not on & {"talks_after_the_end", "all_must_end_at_once"}:
                token = token.masked_fill(ended, filler(eos_id, pad_id))
            generated = torch.cat((generated, token[:, None]), dim=1)
            ends = token == eos_id
            if "pad_ends_the_row" in on:
                ends |= token == pad_id
            forgets = on & {"all_must_end_at_once", "end_forgotten"}
            ended = ends if forgets else ended | ends
            if ended.any() if "stops_with_the_first" in on else ended.all():
                length = length or generated.size(1)
                if not on & {"always_to_max_len", "asked_after_the_end"}:
                    break
        return generated[:, :length] if "asked_after_the_end" in on else generated

    def steps(max_len: int) -> int:
        if "no_max_len" in on:
            return 100  # more than any model here has positions
        if "one_token_too_many" in on:
            return max_len + 1
        return max_len - 1 if "begin_counted" in on else max_len

    def filler(eos_id: int, pad_id: int) -> int:
        if "pad_is_zero" in on:
            return 0
        return eos_id if "end_repeated" in on else pad_id

    def chosen(logits: Tensor, pad_id: int) -> Tensor:
        """From logits (B, T, V) to tokens (B,)."""
        if "pad_never_generated" in on:
            logits[..., pad_id] = -torch.inf
        if "last_of_the_flat_view" in on:
            return logits[-1, -1].argmax().expand(len(logits))
        return logits[:, 0 if "first_position" in on else -1].argmax(dim=-1)

    return answer


item.switch(
    "talks_after_the_end",
    "A row that has ended goes on generating after EOS.",
    why="Whatever a model predicts after EOS is meaningless, but BLEU counts it: perfect "
    "translations get a poor score.",
    hint="Which rows may still generate a token at this step?",
)
item.switch(
    "stops_with_the_first",
    "The whole batch stops as soon as one row has ended.",
    why="The others are cut off in the middle of their sentence.",
    hint="Should one row have ended, or all of them?",
)
item.switch(
    "all_must_end_at_once",
    "Your loop ends only if all rows generate EOS at the same step.",
    why="A row that has ended is forgotten at the next step: it goes on generating, and so does "
    "every other row, up to max_len.",
    hint="Where do you keep track of which rows have ended?",
)
item.switch(
    "end_forgotten",
    "A row that has ended gets padding once, and then generates tokens again.",
    why="You look at the newest token only. One step after EOS it's padding, and the row counts as "
    "active again.",
    hint="How does your code know two steps after EOS that a row has ended?",
)
item.switch(
    "always_to_max_len",
    "Your loop always takes max_len steps and fills up with padding.",
    why="The tokens are right, but each step costs a run of the decoder, and T should be the "
    "length of the longest translation.",
    hint="When are there no active rows left?",
)
item.switch(
    "asked_after_the_end",
    "Your translations are right, but the decoder still runs after all rows have ended.",
    why="Each call of the decoder costs time, and these calls change nothing in the result. If "
    "you make 100 calls for sentences of 10 tokens, nine tenths of the work is wasted.",
    hint="At which step have all rows ended, and does your loop end before it calls the decoder "
    "again?",
)
item.switch(
    "no_max_len",
    "Your loop ignores max_len: it runs until every row has ended.",
    why="A model may never generate EOS, especially an untrained one. Where a row never ended, "
    "your loop stopped only because the model ran out of positions.",
    hint="Where does your code use max_len?",
)
item.switch(
    "begin_counted",
    "You generate at most max_len − 1 tokens, as if BOS were one of them.",
    why="BOS is an input, and isn't generated. max_len counts generated tokens.",
    hint="With max_len 1, how many tokens come out?",
)
item.switch(
    "one_token_too_many",
    "You generate up to max_len + 1 tokens.",
    why="max_len counts all generated tokens, EOS included. With one more, the prefix no longer "
    "fits into a model that has max_len positions.",
    hint="With max_len 1, how many tokens come out?",
)
item.switch(
    "begin_kept",
    "Your result still starts with the BOS token.",
    why="It's part of the decoder's input, not of the translation.",
    hint="Which token must not be in your result?",
)
item.switch(
    "end_left_out",
    "Your result leaves out EOS.",
    why="The task keeps it. It tells a sentence that has ended from one that was cut off at "
    "max_len.",
    hint="What becomes of EOS in your code: is it never appended, or is it removed or overwritten "
    "at the end?",
    spellings=["end_cut_off"],
)
item.switch(
    "end_repeated",
    "Your result repeats EOS where there should be padding.",
    why="A row ends once. What fills up a batch is the pad token, model.config.pad_id.",
    hint="What do you append to a row that has ended?",
)
item.switch(
    "pad_is_zero",
    "You fill up rows with token 0, which isn't padding in every model.",
    why="In another vocabulary 0 may be EOS or an ordinary word, and your translations would "
    "contain it.",
    hint="Where does the model say which token is padding?",
)
item.switch(
    "pad_ends_the_row",
    "Padding that the model predicts ends the row.",
    why="Only EOS ends a translation. A model rarely predicts padding, but if it does, you'd never "
    "see what comes next.",
    hint="In your code, what follows in a row after padding that the model has predicted?",
)
item.switch(
    "pad_never_generated",
    "Your code never generates padding, even where it's the most probable token.",
    why="The task asks for the most probable token. A model that predicts padding probably has "
    "padding in its training loss, and you'd hide that.",
    hint="What does your code choose where padding has the largest logit?",
)
item.switch(
    "reads_only_the_last_token",
    "Your decoder gets only the last token, not the whole prefix.",
    why="Without a cache the model keeps nothing from earlier calls: each token is chosen as if "
    "only the one before it had been generated.",
    hint="What do you pass to decode at step 3?",
)
item.switch(
    "first_position",
    "Each row repeats its first token: you always use the logits of the first position.",
    why="Position t predicts token t + 1. The first one has seen BOS and nothing else.",
    hint="Logits are (B, T, V). At step 3, what is T, and which position has seen the whole "
    "prefix?",
)
item.switch(
    "last_of_the_flat_view",
    "Every row gets the token of the last sentence.",
    why="The same logits are used for all: those at the last position of the last sentence. With a "
    "batch of one you wouldn't notice.",
    hint="Logits are (B, T, V). Along which axis do you want the last entry, and along which "
    "every entry?",
)
item.switch(
    "dropout_left_on",
    "Dropout is on while your code translates.",
    why="The model comes as training left it. With dropout, two calls can give two different "
    "translations, both worse than necessary.",
    hint="`evaluating` is imported. What does it do?",
)
add_mode_not_put_back(item)
item.switch(
    "always_training_afterwards",
    "The model is in training mode afterwards, although it came in evaluation mode.",
    why="Whoever evaluates the model next would do it with dropout, and get worse results.",
    hint="Which mode was the model in when your code got it?",
)
item.switch(
    "gradients_recorded",
    "Your code records a graph for gradients that nobody needs.",
    why="Every step keeps its activations for a backward pass: that costs time and memory.",
    hint="What does `evaluating` switch off besides dropout?",
)
add_encodes_again(item)
