"""11.own_run: what one's own run shows, read from its log and its weights.

The answer is a function that returns numbers. What they are compared with is computed here, from
the two files that were handed in beside the notebook. A sentence that is translated otherwise with
products in bfloat16 counts either way, so that no thread, processor or GPU decides a point.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.engine.call import Answer
from course_lib.checks.engine.compare import Difference
from course_lib.data import split_words
from course_lib.errors import CourseError
from course_lib.training.runs.handed_in_run import HandedInRun, exact, run_at_hand, sentences

FEWEST_EXACT = 50  # of 100: a run that was stopped early has little to show
LOSS_TOLERANCE = 0.05  # relative, of the log and the weights, which are stored in 16 bits
KINDS = {
    1: "at least one word is another one",
    2: "nothing is wrong but words that are too many",
    3: "nothing is wrong but words that are missing",
    4: "the words are right, and their order is not",
}
_KEYS = ("kept_step", "nine_tenths", "exact", "example", "kind")


def _own_run() -> dict[str, int]:
    """An answer of the right form."""
    return dict.fromkeys(_KEYS, 0)


def kind_of_error(translation: str, reference: str) -> int:
    """Which of ``KINDS`` a wrong translation is."""
    got, right = Counter(split_words(translation)), Counter(split_words(reference))
    more, less = got - right, right - got
    if more and less:
        return 1
    return 2 if more else 3 if less else 4


Judge = Callable[[HandedInRun, dict[str, int]], Difference | None]


def _judged(
    judge: Judge, calls: Sequence[Call], expected: Sequence[Answer], answers: Sequence[Answer]
) -> Difference | None:
    """Compare an answer with the run at hand, if that can be read."""
    try:
        run = run_at_hand()
    except CourseError as error:
        return Difference("value", expected="a run that can be read", got=f"this error: {error}")
    return judge(run, answers[0].value)


def _fits(run: HandedInRun, _: dict[str, int]) -> Difference | None:
    logged, found = run.best["valid_loss"], run.valid_loss
    if not abs(found - logged) <= LOSS_TOLERANCE * logged:
        return Difference(
            "value",
            expected=f"weights with the log's lowest validation loss, {logged:.3f}",
            got=f"weights with {found:.3f}: the log and the weights are not of one run",
        )
    right = sum(exact(run.translations))
    if right < FEWEST_EXACT:
        return Difference(
            "value",
            expected=f"a run that translates {FEWEST_EXACT} of {len(sentences())} sentences",
            got=f"{right}: train longer, with `course train mine --resume`",
        )
    return None


def _kept_step(run: HandedInRun, answer: dict[str, int]) -> Difference | None:
    return _step(answer["kept_step"], run.best["step"], "the step of the lowest valid_loss")


def _nine_tenths(run: HandedInRun, answer: dict[str, int]) -> Difference | None:
    most = max(row["valid_exact"] for row in run.rows)
    first = next(row["step"] for row in run.rows if row["valid_exact"] >= 0.9 * most)
    wanted = "the first step at which valid_exact has nine tenths of its highest value"
    return _step(answer["nine_tenths"], first, wanted)


def _step(got: int, right: float, wanted: str) -> Difference | None:
    if got == right:
        return None
    return Difference("value", expected=f"{wanted}, as your log has it", got=f"{got}")


def _exact(run: HandedInRun, answer: dict[str, int]) -> Difference | None:
    pairs = list(zip(exact(run.translations), exact(run.rounded_translations), strict=True))
    low, high = sum(a and b for a, b in pairs), sum(a or b for a, b in pairs)
    if low <= answer["exact"] <= high:
        return None
    return Difference(
        "value",
        expected=f"how many of the {len(pairs)} translations are the reference word for word",
        got=f"{answer['exact']}",
    )


def _example(run: HandedInRun, answer: dict[str, int]) -> Difference | None:
    number, kind = answer["example"], answer["kind"]
    wrong: dict[int, set[int]] = {}
    for translations in (run.translations, run.rounded_translations):
        for i, (is_exact, pair) in enumerate(zip(exact(translations), sentences(), strict=True)):
            if not is_exact:
                wrong.setdefault(i, set()).add(kind_of_error(translations[i], pair.target_text))
    if not wrong and (number, kind) == (-1, 0):
        return None
    if number not in wrong:
        return Difference(
            "value",
            expected="the number of a sentence that your weights translate wrongly, from 0 on",
            got=f"sentence {number}, which they don't",
        )
    if kind not in wrong[number]:
        return Difference(
            "value",
            expected=f"the kind of error in your translation of sentence {number}",
            got=f"{kind} ({KINDS.get(kind, 'no kind at all')})",
        )
    return None


def _call(_: Draw) -> list[Call]:
    return [Call(())]


item = Item(
    "11.own_run",
    reference=_own_run,
    probes=[
        Probe(says, _call, compare=partial(_judged, judge))
        for says, judge in (
            ("the log and the weights are of one run, which translates", _fits),
            ("the step whose weights are kept", _kept_step),
            ("the step at which nine tenths were learned", _nine_tenths),
            ("how many sentences are translated exactly", _exact),
            ("a sentence with an error, and the kind of the error", _example),
        )
    ],
    hints=(
        "Every number is in what the cell above shows, and another run has other numbers.",
        "The run keeps the weights of its lowest validation loss, which need not be the last ones. "
        "For the sentences, compare each translation with its reference, word for word.",
        "min(own.rows, key=lambda row: row[...]); next(row for row in own.rows if ...); "
        "sum(translation == ... for ..., ... in ...)",
    ),
)
