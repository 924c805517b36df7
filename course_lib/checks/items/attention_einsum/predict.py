"""05.predict: What the order costs."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)

INTO, SCORES, CONTEXT = "bsd,dhe->bhse", "bhqe,bhke->bhqk", "bhqk,bhke->bhqe"
OUT = "bhqe,hed->bqd"
EINSUMS = {  # q, k and s run over the words, d and t over d_model, e and f over d_head
    "in_order": [INTO, INTO, INTO, SCORES, CONTEXT, OUT],
    "keys_meet_values": [INTO, INTO, INTO, "bhke,bhkf->bhef", "bhqe,bhef->bhqf", OUT],
    "matrices_first": [
        "dhe,the->hdt",
        "bqd,hdt->bhqt",
        "bhqt,bkt->bhqk",
        INTO,
        CONTEXT,
        OUT,
    ],
    "values_out_first": [INTO, INTO, INTO, SCORES, "bhke,hed->bhkd", "bhqk,bhkd->bqd"],
    "anew": [
        INTO,
        "bqkd,dhe->bhqke",
        "bqkd,dhe->bhqke",
        "bhqe,bhqke->bhqk",
        "bhqk,bhqke->bhqe",
        OUT,
    ],
    "shared": [INTO, "bsd,de->bse", "bsd,de->bse", "bhqe,bke->bhqk", "bhqk,bke->bhqe", OUT],
}


@dataclass(frozen=True)
class Layer:
    """A layer of self-attention, as a list of einsums, at several lengths of its sentences."""

    how: str
    batch: int
    _: KW_ONLY
    heads: int
    d_head: int
    lengths: tuple[int, ...]

    @property
    def d_model(self) -> int:
        return self.heads * self.d_head

    def multiplications(self, length: int, einsums: Iterable[str] | None = None) -> int:
        """Of all its einsums, or of these: one for each turn of the loops of their letters."""
        sizes = dict.fromkeys("sqk", length) | dict.fromkeys("ef", self.d_head)
        sizes |= dict.fromkeys("dt", self.d_model) | {"b": self.batch, "h": self.heads}
        einsums = EINSUMS[self.how] if einsums is None else einsums
        letters = [set(each.split("->")[0]) - {","} for each in einsums]
        return sum(math.prod(sizes[letter] for letter in each) for each in letters)

    @property
    def times(self) -> float:
        """By what factor twice the longest length takes more."""
        return self.times_with(EINSUMS[self.how])

    def times_with(self, einsums: Iterable[str]) -> float:
        """The same, with other einsums of the same sizes."""
        longest = self.lengths[-1]
        return self.multiplications(2 * longest, einsums) / self.multiplications(longest, einsums)

    @property
    def squared(self) -> float:
        """Which share of the multiplications at the longest length grows with its square."""
        squares = [each for each in EINSUMS[self.how] if "q" in each and "k" in each]
        longest = self.lengths[-1]
        return self.multiplications(longest, squares) / self.multiplications(longest)


def _make(drawn: random.Random) -> Layer:
    shortest = drawn.choice([8, 12, 16, 20, 24])
    return Layer(
        how=drawn.choice([*HOW]),
        batch=drawn.randint(2, 9),
        heads=drawn.choice([4, 6, 8]),
        d_head=drawn.choice([8, 12, 16, 20, 24]),
        lengths=tuple(shortest * times for times in (1, 2, 4, 8)),
    )


def _says(run: Layer) -> str:
    """What the layer takes, and why; last what Q5b's own einsums take, which was predicted."""
    takes = SAYS[run.how].format(more=run.heads + 1, many=run.heads + 2)
    as_in_lesson = (
        ""
        if run.how == "in_order"
        else " With these sizes, Q5b's six einsums would take "
        f"{run.times_with(EINSUMS['in_order']):.2f} times as many."
    )
    return (
        f"{takes} With {run.lengths[-1]} words, {run.squared:.0%} of the multiplications grow with "
        f"the square of the length, so twice as many words take {run.times:.2f} times as many."
        f"{as_in_lesson}"
    )


def _show(run: Layer) -> Outcome:
    counts = [run.multiplications(length) for length in run.lengths]
    rows = [f"{length:6}{count:18,}" for length, count in zip(run.lengths, counts, strict=True)]
    sizes = {"B": run.batch, "H": run.heads, "E": run.d_head, "D": run.d_model}
    named = ", ".join(f"{name} = {size}" for name, size in sizes.items())
    return Outcome(
        text="\n".join([named, "", "     S   multiplications", *rows]),
        values=sizes | {"lengths": list(run.lengths), "multiplications": counts},
    )


DOUBLE = "twice as many words take exactly twice as many multiplications"
HOW = {
    "in_order": "the six einsums of Q5b, as they stand there",
    "keys_meet_values": "no softmax, and keys meet values before the queries: "
    "`bhke,bhkf->bhef`, then `bhqe,bhef->bhqf`",
    "matrices_first": "W_Q meets W_K first, `dhe,the->hdt`, then the words: `bqd,hdt->bhqt` and "
    "`bhqt,bkt->bhqk`",
    "values_out_first": "the values meet W_O before the weights: `bhke,hed->bhkd`, then "
    "`bhqk,bhkd->bqd`",
    "anew": "each query has keys and values computed anew for it: `bqkd,dhe->bhqke`, twice",
    "shared": "all heads share one key and one value for each word: `bsd,de->bse`, twice",
}
SAYS = {
    "in_order": "Q5b's own six einsums: a word takes 4 · D · D multiplications, and 2 · D for each "
    "word of its sentence.",
    "keys_meet_values": "Keys met values first: a word takes 4 · D · D multiplications and "
    "2 · D · E, and nothing for each word of its sentence. A softmax would forbid this order.",
    "matrices_first": "W_Q met W_K first, once for all words, with D · D · D multiplications: a "
    "word then takes {many} · D · D, and {more} · D for each word of its sentence.",
    "values_out_first": "The values met W_O first: a word takes 4 · D · D multiplications, and "
    "{more} · D for each word of its sentence.",
    "anew": "Keys and values were computed anew for each query: a word takes 2 · D · D "
    "multiplications, and for each word of its sentence 2 · D · D and 2 · D more.",
    "shared": "All heads shared one key and one value: a word takes 2 · D · D multiplications and "
    "2 · D · E, and 2 · D for each word of its sentence, as in Q5b.",
}
run = NumberedRun(
    id="05.predict",
    easy=lambda run: DOUBLE if run.how == "keys_meet_values" else "",
    make=_make,
    show=_show,
    questions={
        "times": Number(
            what="the factor from the longest S to twice that length",
            right=lambda run: run.times,
            look="Give two decimals. Find the layer first: divide the multiplications by B · S, "
            "and see how the result grows with S. Then count the loops of its einsums at twice the "
            "longest S, and divide by the last row of the table. The ratio of the last two rows is "
            "the factor from half the longest S to the longest.",
            within=0.005,
        ),
        "how": Choice(
            options=HOW,
            right=lambda run: run.how,
            look={
                "in_order": "Then each word would take 4 · D · D multiplications, and 2 · D more "
                "for each word of its sentence.",
                "keys_meet_values": "Then no string would have both q and k, and twice as many "
                "words would take exactly twice as many multiplications.",
                "matrices_first": "Then a part would not depend on S at all, and divided by B · S "
                "the table would be no straight line over S.",
                "values_out_first": "Then the projections would cost as much as in Q5b, and each "
                "pair of words D multiplications for each head, beside those of the scores.",
                "anew": "Then each pair of words would take D · D multiplications twice, and the "
                "count would grow almost fourfold from row to row.",
                "shared": "Then each pair of words would take as much as in Q5b, and the "
                "projections less: two of them would have only E columns.",
            },
        ),
    },
    says=_says,
)
item = own_number_item(
    run,
    hints=(
        "An einsum is loops, one for each letter. So it takes as many multiplications as the "
        "product of the sizes of all its letters.",
        "Write the count of each of the six layers as rest + B · S · (a + c · S), with a and c "
        "from H, E and D. In five of them rest is 0. In one, an einsum has neither b nor s: its "
        "count is the rest, and has to be taken away before you divide by B · S.",
        'With n = run["multiplications"] and s = run["lengths"]: per_word = [(x - rest) / run["B"] '
        "/ y for x, y in zip(n, s)], first with rest = 0. If per_word rises by the same amount for "
        "each word, c is that amount, (per_word[3] - per_word[2]) / (s[3] - s[2]), and a is "
        'per_word[3] - c * s[3]. If not, rest is run["D"] ** 3.',
    ),
)
