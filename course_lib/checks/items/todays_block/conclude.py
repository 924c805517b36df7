"""17.conclude: Is a reader right whose words are plausible?"""

from __future__ import annotations

import random
from dataclasses import KW_ONLY, dataclass

import torch
from torch import Tensor

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)
from course_lib.checks.items.todays_block.reader import CONFIG, STAGES, draw_weights, read
from course_lib.modern.norm import rms_norm

LENGTH = 32
LATER = 100  # the first position of the second reading
DIFFERS = 1e-3  # by how much a number differs, at least; less is rounding
SLOWLY, AT_ONCE = 0.15, 0.25  # shares of the largest difference, at the second token


@dataclass(frozen=True)
class Readings:
    """The vectors of one text in a published model and in a reader of its weights.

    Attributes:
        bug: the reader's, a name in ``BUGS``.
        same_words: at how many positions both find the same next token the most probable.
        published, reader, later: vectors (stage, position, d_model); the last ones are the
            reader's with the same text from position 100 on.
    """

    bug: str
    _: KW_ONLY
    same_words: int
    published: Tensor
    reader: Tensor
    later: Tensor

    @property
    def by_stage(self) -> Tensor:
        """The largest difference of a number of a vector, (stage, position)."""
        return (self.reader - self.published).abs().amax(-1)

    @property
    def when_moved(self) -> Tensor:
        """The same between the reader's two readings."""
        return (self.later - self.reader).abs().amax(-1)

    @property
    def worst(self) -> int:
        """The position with the largest difference at the end; -1 if there is none."""
        last = self.by_stage[-1]
        return int(last.argmax()) if last.max() > DIFFERS else -1


@torch.no_grad()
def _make(drawn: random.Random) -> Readings:
    bug = drawn.choice([*BUGS])
    while True:
        weights, tokens = draw_weights(), torch.randint(CONFIG.vocab, (LENGTH,))
        published, reader = read(weights, tokens), read(weights, tokens, bug=bug)
        table = weights["tokens.weight"]
        best, other = ((rms_norm(x[-1]) @ table.T).argmax(-1) for x in (published, reader))
        run = Readings(
            bug,
            same_words=int((best == other).sum()),
            published=published,
            reader=reader,
            later=read(weights, tokens, bug=bug, first=LATER),
        )
        if _is_clear(run):
            return run


def _is_clear(run: Readings) -> bool:
    """Whether one position is clearly the worst, and no other bug looks like this one."""
    last = run.by_stage[-1]
    if run.bug == "from_one":
        return bool(last.max() < DIFFERS / 10)
    top, second = last.topk(2).values
    if top < 1.02 * second:
        return False
    attention = run.by_stage[1]
    share = attention[1] / attention.max()
    if run.bug == "base":
        return bool(share < SLOWLY)
    return bool(share > AT_ONCE) if run.bug == "layout" else True


def _show(run: Readings) -> Outcome:
    lines = [
        f"a text of {LENGTH} tokens; {CONFIG.n_heads} heads of queries, "
        f"{CONFIG.resolved_n_kv_heads} of keys; D = {CONFIG.d_model}, "
        f"E = {CONFIG.resolved_d_head}",
        f"stages: {', '.join(STAGES)}",
        "what your friend has looked at:",
        f"the most probable next token is the published model's at {run.same_words} of {LENGTH} "
        "positions",
    ]
    values = {"published": run.published, "reader": run.reader, "later": run.later}
    return Outcome(text="\n".join(lines), values=values)


def _says(run: Readings) -> str:
    if run.bug == "from_one":
        return (
            "No vector differs: rotated queries and keys know only the distance of two tokens, and "
            "all distances are the same. In a model with learned positions, it would be a bug."
        )
    at_0, last = run.by_stage[:, 0], run.by_stage[-1]
    first = next((i for i, each in enumerate(at_0) if each > DIFFERS), None)
    begins = (
        "position 0 is right at every stage"
        if first is None
        else f"position 0 is wrong from stage “{STAGES[first]}” on"
    )
    return (
        f"At {run.same_words} of {LENGTH} positions the most probable token is the published one, "
        f"and yet vectors differ by up to {last.max():.1f}; {begins}. {EXPLAINED[run.bug]}"
    )


BUGS = {
    "layout": "it turns features 2i and 2i + 1 as a pair, and the weights were trained with pairs "
    "i and i + E/2",
    "base": "the base of its rotation is 10,000, and the configuration says 100,000",
    "keys_not_turned": "it turns the queries, and not the keys",
    "values_turned": "it turns the values, too, and not only queries and keys",
    "dealt_out": "its four heads of queries use heads 0, 1, 0, 1 of the keys and values, and "
    "should use 0, 0, 1, 1",
    "both_activated": "its feed-forward networks apply SiLU to both branches, and should apply it "
    "to the gate alone",
    "scaled": "it multiplies the embeddings by √D, as in 2017",
    "from_one": "its positions start at 1 and not at 0, which changes nothing: your friend is "
    "right",
}
EXPLAINED = {
    "layout": "The wrong layout is a rotation, too, and knows only distances. But it gives most "
    "features another frequency than they were trained with.",
    "base": "With another base the fastest pair is still right, and near tokens hardly differ; the "
    "farther apart two tokens are, the more the slow pairs are off.",
    "keys_not_turned": "With one of the two unturned, a score depends on where the query stands, "
    "not on the distance to the key.",
    "values_turned": "A value that is turned carries its position into the residual stream, where "
    "nothing takes it out again.",
    "dealt_out": "Two heads of queries look at keys that they were not trained for; the others are "
    "right.",
    "both_activated": "SiLU leaves little of a negative value, so about half of the products "
    "are other numbers; the attention before the first network is still right.",
    "scaled": "The norm takes the factor out before the first attention, but what every sublayer "
    "adds to the stream now counts for less.",
}
run = NumberedRun(
    id="17.conclude",
    make=_make,
    show=_show,
    questions={
        "worst": Number(
            what="the position whose last vector differs most",
            right=lambda run: run.worst,
            look='Take the absolute difference of `run["reader"]` and `run["published"]` at the '
            "last stage, and of the numbers of each vector the largest one. Positions count from "
            "0. If no number differs by more than 0.001, the answer is -1.",
        ),
        "why": Choice(
            options=BUGS,
            right=lambda run: run.bug,
            look={
                "layout": "Then position 0 would be right at every stage, position 1 clearly wrong "
                "after the first attention, and the reader would give the same from position 100 "
                "on.",
                "base": "Then position 0 would be right at every stage, position 1 nearly right "
                "after the first attention (less than 15 % of the largest difference), and the "
                "reader would give the same from position 100 on.",
                "keys_not_turned": "Then position 0 would be right at every stage, also from "
                "position 100 on, and later positions would change if the text is moved there.",
                "values_turned": "Then position 0 would be right, and would change if the text is "
                "moved to position 100.",
                "dealt_out": "Then position 0 would be wrong from the first attention on, and "
                "right before it.",
                "both_activated": "Then all positions would still be right after the first "
                "attention, and wrong after the first feed-forward network.",
                "scaled": "Then the embeddings themselves would differ.",
                "from_one": "Then no number would differ by more than 0.001.",
            },
        ),
    },
    says=_says,
    easy=lambda run: "nothing differs" if run.bug == "from_one" else "",
)
item = own_number_item(
    run,
    hints=(
        "The most probable token is a coarse measure. Compare the vectors themselves: at which "
        "stage, and at which position, does the first difference appear?",
        "At position 0 a query has one key, so the weight is 1 whatever the rotation is. What can "
        "be wrong there all the same? And which bugs can be seen if the same text is moved to "
        "position 100?",
        'wrong = (run["reader"] - run["published"]).abs().amax(-1) has a row for each stage and a '
        'column for each position; moved = (run["later"] - run["reader"]).abs().amax(-1) as well. '
        "Look at rows 0, 1 and 2 of wrong, and at columns 0 and 1 of both.",
    ),
)
