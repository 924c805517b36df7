"""16.continue_greedily: the most probable next token, again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_lib import modern
from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.items.one_stack.toy_decoder import (
    draw_decoder,
    draw_texts,
    use_decoder_only,
)
from course_lib.modern import DecoderCache, DecoderOnly

BOS, EOS = 1, 2


def _call(
    draw: Draw,
    *ends: int,
    about: str,
    max_new: int = 12,
    source: int = 4,
    ids: tuple[int, int] = (BOS, EOS),
    limit: int = 30,
    mean: float = 0.0,
    ends_in_source: bool = False,
    **options: Any,
) -> Call:
    """Sources of one length and BOS, whose continuations have these lengths."""
    bos_id, eos_id = ids
    last = (eos_id, bos_id) if ends_in_source else (bos_id,)
    tokens = draw_texts(draw, len(ends), *last, length=source + 1)
    model = draw_decoder(draw, *ends, start=source + 1, max_len=limit, mean=mean)
    options = {"max_new": max_new, "eos_id": eos_id, "prefix_length": source} | options
    return Call((model, tokens), options, about=about)


item = Item(
    "16.continue_greedily",
    reference=modern.continue_greedily,
    use=use_decoder_only,
    probes=[
        Probe(
            "each token is the most probable one after all tokens so far",
            lambda draw: [
                _call(draw, 6, about="one row of 6 new tokens, EOS included"),
                _call(draw, 5, 5, 5, about="three rows of 5 new tokens"),
            ],
        ),
        Probe(
            "the first prefix_length tokens, and no more, are the prefix of every call",
            lambda draw: [
                _call(draw, 5, 4, prefix_length=0, about="no prefix: a text is continued"),
                _call(draw, 4, 6, source=6, about="a source of 6 tokens"),
                _call(draw, 4, prefix_length=5, about="BOS belongs to the prefix, too"),
            ],
        ),
        Probe(
            "after EOS a row has EOS only",
            lambda draw: [
                _call(draw, 2, 5, 1, 4, about="rows of 2, 5, 1 and 4 new tokens"),
                _call(draw, 6, 3, 3, about="rows of 6, 3 and 3 new tokens"),
            ],
        ),
        Probe(
            "an EOS in the source ends nothing",
            lambda draw: [
                _call(draw, 3, 5, ends_in_source=True, about="each source ends with EOS"),
                _call(draw, 4, ids=(EOS, EOS), about="the id of BOS is that of EOS"),
            ],
        ),
        Probe(
            "no row gets more than max_new tokens",
            lambda draw: [
                _call(draw, 3, 0, 5, max_new=6, about="one of three rows never ends, max_new 6"),
                _call(draw, 0, 0, max_new=7, limit=12, about="no row ends, the model is full"),
                _call(draw, 0, 1, max_new=1, about="max_new 1"),
                _call(draw, 4, 4, max_new=4, about="all rows end exactly at max_new"),
            ],
        ),
        Probe(
            "any ids, and logits of any size",
            lambda draw: [
                _call(draw, 4, 2, 6, ids=(7, 0), about="BOS 7, EOS 0"),
                _call(draw, 3, 5, mean=-50.0, about="logits around -50"),
                _call(draw, 3, 5, mean=200.0, about="logits around 200"),
            ],
        ),
        Probe(
            "gradients are off, and the model isn't called after all rows have ended",
            lambda draw: [
                _call(
                    draw,
                    5,
                    3,
                    watch=["with gradients", "called after all have ended"],
                    about="rows of 5 and 3 tokens",
                )
            ],
        ),
    ],
    hints=(
        "This is lesson 13's loop without an encoder. What does the model read at each step, and "
        "at which position are the logits that you need?",
        "Keep all tokens so far in one tensor, and beside it a boolean (B,) of the rows whose new "
        "tokens have EOS among them. The prefix is the same tensor of B numbers in each call. Stop "
        "when all rows have ended or there are max_new new tokens, and return those alone.",
        "torch.full((3,), 4) is the tensor 4 4 4. If ended is False True and the tokens are 7 4, "
        "tokens.masked_fill(ended, 9) is 7 9. torch.cat((x, y), dim=1) puts the columns of y "
        "behind those of x, and y has to be (B, 1) for that. Let `ended` begin with False for all "
        "rows, whatever their sources hold.",
    ),
)


@item.switchable
def continuing_with(on: frozenset[str]) -> Callable[..., Tensor]:
    """continue_greedily with these misconceptions."""

    def answer(
        model: DecoderOnly, tokens: Tensor, *, max_new: int, eos_id: int, prefix_length: int
    ) -> Tensor:
        if "prefix_as_a_number" in on:
            model(tokens, prefix=prefix_length)
        with torch.set_grad_enabled("gradients_recorded" in on):
            text = extended(model, tokens, max_new, eos_id, prefix_length)
        if "end_replaced" in on:
            new = text[:, tokens.size(1) :]
            return new.masked_fill(new == eos_id, 0)
        if "last_column_cut" in on:
            return text[:, tokens.size(1) : -1]
        if "end_left_out" in on:
            new = text[:, tokens.size(1) :]
            return new[:, :-1] if (new[:, -1] == eos_id).all() else new
        if "bos_kept" in on:
            return text[:, tokens.size(1) - 1 :]
        return text if "source_kept" in on else text[:, tokens.size(1) :]

    def extended(
        model: DecoderOnly, tokens: Tensor, max_new: int, eos_id: int, prefix_length: int
    ) -> Tensor:
        text, n_given = tokens, tokens.size(1)
        ended = torch.zeros(len(tokens), dtype=torch.bool)
        if "end_of_the_source_counts" in on:
            ended = (tokens == eos_id).any(dim=1)
        filler = {"zeros_after_the_end": 0, "minus_one_after_the_end": -1}
        filler["ignored_after_the_end"] = -100
        length, cache = None, None
        last_alone = on & {"reads_only_the_last_token", "reads_only_the_last_token_unclamped"}
        new_alone = on & {"reads_only_the_new_tokens", "reads_only_the_new_tokens_unclamped"}
        for _ in range(steps(max_new)):
            if ended.all() and "end_of_the_source_counts" in on:
                break
            read = text
            if "read_again_with_a_cache" in on:
                cache = cache or DecoderCache(model.config)
            if last_alone and text.size(1) > n_given:
                read = text[:, -1:]
            if new_alone and text.size(1) > n_given:
                read = text[:, n_given - 1 :]
            prefix = prefix_of(text, prefix_length, n_given)
            unclamped = any(name.endswith("_unclamped") for name in on)
            if prefix is not None and read is not text and not unclamped:
                prefix = prefix.clamp(max=read.size(1))
            token = chosen(model(read, prefix=prefix, cache=cache))
            if not on & {"writes_after_the_end", "all_must_end_at_once"}:
                other = next((id for name, id in filler.items() if name in on), eos_id)
                token = token.masked_fill(ended, other)
            text = torch.cat((text, token[:, None]), dim=1)
            ends = token == eos_id
            ended = ends if "all_must_end_at_once" in on else ended | ends
            if "searches_the_whole_row" in on:
                ended = (text == eos_id).any(dim=1)
            if ended.any() if "stops_with_the_first" in on else ended.all():
                length = length or text.size(1)
                if not on & {"always_to_max_new", "asked_after_the_end"}:
                    break
        return text[:, :length] if "asked_after_the_end" in on else text

    def prefix_of(text: Tensor, prefix_length: int, n_given: int) -> Tensor | None:
        if on & {"no_prefix", "prefix_of_none"}:
            return None if "no_prefix" in on else torch.zeros(len(text), dtype=torch.long)
        if "all_is_prefix" in on:
            prefix_length = text.size(1)
        if on & {"prefix_worked_out", "prefix_is_all_that_is_given"}:
            prefix_length = n_given - int("prefix_worked_out" in on)
        if "prefix_one_shorter" in on:
            prefix_length = max(prefix_length - 1, 0)
        if "prefix_one_longer" in on:
            prefix_length = min(prefix_length + 1, text.size(1))
        if "prefix_one_longer_than_the_text" in on:
            prefix_length += 1
        return torch.full((len(text),), prefix_length)

    def steps(max_new: int) -> int:
        if "no_max_new" in on:
            return 100  # more than any model here has positions
        return max_new + int("one_too_many" in on) - int("one_too_few" in on)

    def chosen(logits: Tensor) -> Tensor:
        """From logits (B, L, V) to tokens (B,)."""
        if "last_of_the_flat_view" in on:
            return logits[-1, -1].argmax().expand(len(logits))
        if "one_argmax_for_all" in on:
            return logits[:, -1].argmax().expand(len(logits))
        at = 0 if "first_position" in on else -1
        at = -min(2, logits.size(1)) if "last_but_one" in on else at
        return logits[:, at].argmax(dim=-1)

    return answer


item.switch(
    "no_prefix",
    "You don't give the model its prefix: it reads the source causally.",
    why="It was trained with a source that sees all of itself. Read otherwise, every layer gives "
    "other vectors: it is another model, and there is no error.",
    hint="What does your code do with prefix_length?",
    spellings=["prefix_of_none"],
)
item.switch(
    "all_is_prefix",
    "Your prefix is everything written so far, and grows with every token.",
    why="The model was trained to see the source both ways and the target causally. With your "
    "prefix earlier tokens look at later ones, and that it has never seen.",
    hint="Which number do you give as the prefix at the first step, and at the fifth?",
)
item.switch(
    "prefix_one_longer",
    "Your prefix is one token longer than prefix_length.",
    why="The source would look at the token after it, which in training it couldn't see.",
    hint="Does your prefix count BOS? It only should if prefix_length does.",
    spellings=["prefix_one_longer_than_the_text"],
)
item.switch(
    "prefix_as_a_number",
    "You give the model its prefix as a number.",
    why="The prefix is a tensor with one number for each row, (B,): elsewhere, each row of a batch "
    "has a prefix of its own.",
    hint="Make a tensor of as many equal numbers as there are rows.",
)
item.switch(
    "prefix_one_shorter",
    "Your prefix is one token shorter than prefix_length.",
    why="The last token of the source would be hidden from the others, which in training saw it.",
    hint="Which number do you give as the prefix if prefix_length is 4?",
)
item.switch(
    "prefix_worked_out",
    "You work the prefix out from tokens, and don't use prefix_length.",
    why="How long the prefix is can't be told from the tokens. A text without a source has none.",
    hint="Where does your code use prefix_length?",
    spellings=["prefix_is_all_that_is_given"],
)
item.switch(
    "end_of_the_source_counts",
    "An EOS in the source ends the row.",
    why="A source may hold EOS itself: then nothing is written at all, or EOS only. Here source "
    "and target are one row, so it matters where you look.",
    hint="In which part of the row do you look for EOS?",
    spellings=["searches_the_whole_row"],
)
item.switch(
    "writes_after_the_end",
    "A row that has ended goes on writing after EOS.",
    why="Whatever a model predicts after EOS is meaningless, but BLEU counts it.",
    hint="Which rows may still get a token of their own at this step?",
)
item.switch(
    "stops_with_the_first",
    "The whole batch stops as soon as one row has ended.",
    why="The others are cut off in the middle of their sentence.",
    hint="Should one row have ended, or all of them?",
)
item.switch(
    "all_must_end_at_once",
    "Your loop ends only if all rows write EOS at the same step.",
    why="A row that has ended is forgotten at the next step: it goes on writing, up to max_new.",
    hint="Where do you keep track of which rows have ended?",
)
item.switch(
    "zeros_after_the_end",
    "After EOS you fill up a row with another number than EOS.",
    why="0 may be a word, and a negative number is no token: the model can't look it up at the "
    "next step. The task asks for EOS there.",
    hint="What do you append to a row that has ended?",
    spellings=["minus_one_after_the_end", "ignored_after_the_end"],
)
item.switch(
    "always_to_max_new",
    "Your loop always takes max_new steps.",
    why="Once all rows have ended, each further step costs a run of the model for nothing, and "
    "the result should be as long as the longest continuation.",
    hint="When is nothing left to do?",
)
item.switch(
    "asked_after_the_end",
    "The result is right, but the model still runs after all rows have ended.",
    why="Each call costs time, and these calls change nothing.",
    hint="At which step have all rows ended, and does your loop end before it calls the model "
    "again?",
)
item.switch(
    "no_max_new",
    "Your loop ignores max_new: it runs until every row has ended.",
    why="A model may never write EOS, especially an untrained one.",
    hint="Where does your code use max_new?",
)
item.switch(
    "one_too_few",
    "You write at most max_new - 1 tokens.",
    why="max_new counts new tokens, EOS included. BOS is given and doesn't count.",
    hint="With max_new 1, how many tokens come out?",
)
item.switch(
    "one_too_many",
    "You write up to max_new + 1 tokens.",
    why="max_new counts all new tokens, EOS included.",
    hint="With max_new 1, how many tokens come out?",
)
item.switch(
    "source_kept",
    "Your result still begins with the source.",
    why="Source and target are one row for the model, but what was asked for is what is new.",
    hint="How many of the columns were given?",
)
item.switch(
    "bos_kept",
    "Your result begins with BOS.",
    why="BOS was given: it's the last token of what is to be continued.",
    hint="How many of the columns were given?",
)
item.switch(
    "end_left_out",
    "Your result leaves out the last token, EOS.",
    why="The task keeps it. It tells a sentence that has ended from one that was cut off.",
    hint="What becomes of EOS in your code: is it never appended, or cut off at the end?",
    spellings=["last_column_cut"],
)
item.switch(
    "end_replaced",
    "In your result, EOS is replaced by another number.",
    why="EOS tells a sentence that has ended from one that was cut off, and the task keeps it.",
    hint="Which line changes the tokens after the loop?",
)
item.switch(
    "reads_only_the_last_token",
    "From the second step on, your model reads the last token alone.",
    why="Without a cache it keeps nothing of earlier calls, not even the source.",
    hint="What do you pass to the model at step 3, and which position does it stand at?",
    spellings=["reads_only_the_last_token_unclamped"],
)
item.switch(
    "reads_only_the_new_tokens",
    "From the second step on, your model reads what is new and no longer the source.",
    why="Here nothing remembers the source: there is no memory, only the row itself. Positions "
    "would start again at BOS, too.",
    hint="What do you pass to the model at step 3, and where would it find the source?",
    spellings=["reads_only_the_new_tokens_unclamped"],
)
item.switch(
    "read_again_with_a_cache",
    "You use a cache and still pass the whole row at each step.",
    why="The cache has those tokens already, so the model reads them twice, the second time at "
    "later positions.",
    hint="With a cache, which tokens are new to the model at step 3?",
)
item.switch(
    "first_position",
    "You always use the logits of the first position.",
    why="Position i predicts token i + 1. The first one predicts the second token of the source.",
    hint="Logits are (B, L, V). Which position has seen the whole row?",
)
item.switch(
    "last_but_one",
    "You use the logits of the last position but one.",
    why="There the model predicts the last token, which is written already.",
    hint="Logits are (B, L, V). Which position has seen the whole row?",
)
item.switch(
    "one_argmax_for_all",
    "You take one argmax over the whole batch.",
    why="Without an axis, argmax flattens: it returns one index into all rows together, which is "
    "no token, and every row gets it.",
    hint="Along which axis of (B, V) are the tokens?",
)
item.switch(
    "last_of_the_flat_view",
    "Every row gets the token of the last row.",
    why="The same logits are used for all: those at the last position of the last row. With a "
    "batch of one you wouldn't notice.",
    hint="Logits are (B, L, V). Along which axis do you want the last entry, and along which "
    "every entry?",
)
item.switch(
    "gradients_recorded",
    "Your code records a graph for gradients that nobody needs.",
    why="Every step keeps its activations for a backward pass: that costs time and memory.",
    hint="torch.no_grad() and torch.inference_mode() both switch that off.",
)
