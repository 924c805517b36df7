"""The tests of an item up to the first that fails, without looking for misconceptions."""

from course_lib.checks.diagnosis.diagnose import SEED
from course_lib.checks.diagnosis.trial import try_probe
from course_lib.checks.engine.call import ask


def first_failure(item, subject, *, seed=SEED, ask_learner=ask):
    """What the first failed test says; None if all are passed."""
    for i, probe in enumerate(item.probes):
        if difference := try_probe(
            probe, item, subject=subject, draw_seed=seed + i, ask_learner=ask_learner
        ).difference:
            return str(difference)
    return None
