"""Which of the failed tests says most about what is wrong: the one that gets the ✗."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from course_lib.checks.diagnosis.trial import Trial
from course_lib.checks.engine.item import Misconception

LITTLE = 1e-3  # errors below this share may be rounding, or an eps
LEAST_WORDS = 1.0  # by how much another test has to fit a misconception's words better
_ENDINGS = ("ings", "ing", "ed", "es", "s")


def find_telling_trial(
    trials: Sequence[Trial], misconceptions: Sequence[Misconception] = ()
) -> Trial | None:
    """The trial that had to be stopped, or the first that failed, with two exceptions.

    Tests run from the plain to the special, so an error of the plain case is told there, unless:
    - Its numbers are hardly wrong, and those of another trial are much more so.
    - The plain case is right, and the words of a misconception that was recognised fit another
      failed test better: of the special ones, it is about that.
    """
    failed = [trial for trial in trials if trial.difference]
    if not failed or failed[-1].stop:
        return failed[-1] if failed else None
    if misconceptions:
        return failed[0] if trials[0].difference else _best_in_words(trials, failed, misconceptions)
    worst = max(failed, key=_error)
    little = 0 < _error(failed[0]) < min(LITTLE, _error(worst) / 10)
    return worst if little else failed[0]


def _error(trial: Trial) -> float:
    return trial.difference.error if trial.difference else 0.0


def _best_in_words(
    trials: Sequence[Trial], failed: Sequence[Trial], misconceptions: Sequence[Misconception]
) -> Trial:
    """The failed test that shares most with the misconceptions' words, rare ones counting more."""
    told = _words(" ".join(f"{m.symptom} {m.why}" for m in misconceptions))
    tested = {
        id(trial): _words(" ".join([trial.probe.property, *(call.about for call in trial.calls)]))
        for trial in trials
    }

    def score(trial: Trial) -> float:
        own = tested[id(trial)]
        rarities = (
            math.log(1 + len(trials) / sum(word in other for other in tested.values()))
            for word in own & told
        )
        return sum(rarities) / math.sqrt(len(own) or 1)

    best = max(failed, key=score)
    return best if score(best) - score(failed[0]) >= LEAST_WORDS else failed[0]


def _words(text: str) -> set[str]:
    """The words without their endings, "drops" and "dropped" as "drop" and "dropp"."""
    found = {word.lower() for word in re.findall(r"\w{3,}", text)}
    return {_stem(word) for word in found}


def _stem(word: str) -> str:
    ending = next((e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) >= 3), "")
    return word.removesuffix(ending)
