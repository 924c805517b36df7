"""13.predict: What a wider beam finds."""

from __future__ import annotations

import random
from dataclasses import KW_ONLY, dataclass

from course_lib.checks.items.decoding.table_search import (
    EOS,
    Prefix,
    Table,
    clear,
    cuts_are_clear,
    draw_table,
    hypotheses,
    score,
    table_lines,
)
from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)


@dataclass(frozen=True)
class Search:
    """What a wider beam finds in a table, beside greedy decoding."""

    table: Table
    width: int
    _: KW_ONLY
    length_penalty: float

    def best(self, width: int | None) -> Prefix:
        """The hypothesis with the best score; None: of all sentences."""
        return max(hypotheses(self.table, width), key=self.score)

    def score(self, sentence: Prefix) -> float:
        return score(sentence, self.length_penalty)

    @property
    def why(self) -> str:
        """What the wider beam does; "" if more than one sentence of the task is nearly true."""
        greedy, wide, best = self.best(1), self.best(self.width), self.best(None)
        if len({str(each) for each in (greedy, wide, best)}) > 2:
            return ""
        if str(wide) == str(greedy):
            return "same" if str(best) == str(greedy) else "missed"
        if str(best) == str(greedy):
            return "worse" if wide.log_prob < greedy.log_prob else ""
        if wide.log_prob < greedy.log_prob:
            return "longer"
        return "shorter" if len(wide.words) < len(greedy.words) else "better"


def _make(drawn: random.Random) -> Search:
    why = drawn.choice([*WHY])
    while True:
        penalty = drawn.choice([0.6, 1.0] if why == "longer" else [0.0, 0.6, 1.0])
        width = drawn.choice([2] if why == "worse" else [2, 3])
        run = Search(draw_table(drawn), width, length_penalty=penalty)
        if next(iter(run.table[""])) == EOS:
            continue  # greedy decoding would write nothing
        alike = run.best(1) == run.best(width)
        if alike != (why in ("same", "missed")) or run.why != why:
            continue
        everything = hypotheses(run.table, None)
        first = [run.best(1), run.best(run.width), run.best(None)]
        named = {str(each): each for each in first}.values()
        if (
            clear([each.log_prob for each in named])
            and clear(sorted(map(run.score, everything))[-2:])
            and all(cuts_are_clear(run.table, each) for each in (1, run.width))
        ):
            return run


def _show(run: Search) -> Outcome:
    found = {
        width: [(str(each), each.log_prob) for each in hypotheses(run.table, width)]
        for width in (1, run.width)
    }
    lines = [
        f"width {run.width}, length penalty {run.length_penalty}",
        "probabilities of the next word after each prefix (after any other: <eos> 1.00):",
        *table_lines(run.table),
    ]
    return Outcome(
        text="\n".join(lines),
        values={
            "table": run.table,
            "width": run.width,
            "length_penalty": run.length_penalty,
            "found": found,
        },
    )


def _told(run: Search, width: int | None) -> str:
    sentence = run.best(width)
    return f'"{sentence}" (ln p {sentence.log_prob:.2f}, score {run.score(sentence):.2f})'


WHY = {
    "better": "behind a prefix that greedy decoding drops, the wider beam found a more probable "
    "sentence that is not shorter",
    "shorter": "the wider beam found a more probable sentence that is shorter, so it is a product "
    "of fewer numbers",
    "longer": "thanks to the length penalty, a longer sentence, less probable than the greedy one, "
    "has a better score",
    "same": "of all sentences of the table, the greedy one has the best score, and the wider beam "
    "found it, too",
    "missed": "both widths choose the same sentence, and another one of the table has a better "
    "score",
    "worse": "the wider beam dropped the greedy sentence on the way, and what it found has a worse "
    "score",
}
run = NumberedRun(
    id="13.predict",
    make=_make,
    show=_show,
    questions={
        "log_prob": Number(
            what="ln p of the sentence that the wider beam chooses",
            right=lambda run: run.best(run.width).log_prob,
            look='Of `run["found"][run["width"]]`, take the hypothesis with the best score, ln p / '
            "((5 + n) / 6) ** α. Then give its ln p to two decimals: not its score, and not the "
            "ln p of the greedy sentence.",
            within=0.006,  # two decimals
        ),
        "why": Choice(
            options=WHY,
            right=lambda run: run.why,
            look={
                "better": "Then the wider beam's sentence would have a higher ln p than the greedy "
                "one, and at least as many tokens.",
                "shorter": "Then the wider beam's sentence would have fewer tokens than the greedy "
                "one, and a higher ln p.",
                "longer": "Then the wider beam's sentence would have more tokens than the greedy "
                "one, a lower ln p and a better score.",
                "same": "Then both widths would choose one sentence, and no other sentence of the "
                "table would have a better score. Have you looked at all of them?",
                "missed": "Then both widths would choose one sentence, and somewhere in the table "
                "there would be another one with a better score.",
                "worse": "Then the score of the wider beam's sentence, not only its ln p, would be "
                "lower than that of the greedy one.",
            },
        ),
    },
    says=lambda run: (
        f"{WHY[run.why]}. Greedy decoding chooses {_told(run, 1)}, and the best of all "
        f"sentences is {_told(run, None)}. A beam of {run.width} chooses {_told(run, run.width)}."
    ),
)
item = own_number_item(
    run,
    hints=(
        "Three sentences count: the greedy one, the one that the wider beam chooses, and the best "
        "of all sentences of the table. For each, you want its ln p, its length and its score.",
        "Choose by the score, with the length penalty of your run. To list all sentences, start "
        "with no words, and continue each prefix with each word of its row until all have ended.",
        'best = max(run["found"][width], key=lambda h: h[1] / ((5 + len(h[0].split())) / 6) ** …), '
        "for width 1 and for your width. All sentences: def walk(prefix, p), which prints both if "
        'prefix ends with "<eos>". Otherwise it calls walk(f"{prefix} {word}".strip(), p * q) for '
        'each word, q in table.get(prefix, {"<eos>": 1.0}).items(). Start with walk("", 1.0).',
    ),
)
