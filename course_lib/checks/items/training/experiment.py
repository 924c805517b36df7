"""11.experiment: Which smoothed loss is this?"""

from __future__ import annotations

from typing import Any

from course_lib.checks.items.experiment import BlackBox, experiment_item
from course_lib.checks.items.tensor_arguments import logits_problem
from course_lib.checks.items.training.label_smoothed_loss import item as label_smoothed_loss


def _problem(logits: Any, labels: Any, pad_id: Any, smoothing: Any) -> str:
    """What keeps arguments from being those that the task of label_smoothed_loss names."""
    if problem := logits_problem(logits, labels):
        return problem
    last = logits.size(-1) - 1
    if type(pad_id) is not int or not 0 <= pad_id <= last or last < 2:
        return "a pad_id from 0 to V − 1, and at least three tokens"
    fits = isinstance(smoothing, float) and 0 <= smoothing <= 1
    return "" if fits else "smoothing as a float from 0.0 to 1.0"


box = BlackBox(
    of=label_smoothed_loss,
    wrong={
        "pads_counted": "padding counts like text",
        "divides_by_all_positions": "padding costs nothing, but the sum is divided by all "
        "positions",
        "mean_of_sentences": "it is the mean of the sentences' means",
        "shared_by_the_others": "the wrong tokens share the smoothing among them, and the right "
        "one gets none of it",
        "no_share_for_the_pad": "all tokens but the pad share the smoothing",
        "parts_exchanged": "the right token keeps `smoothing`, and 1 − `smoothing` is shared",
        "kl_divergence": "the entropy of the soft labels is subtracted",
        "as_in_the_annotated_transformer": "the entropy is subtracted, and neither the right token "
        "nor the pad gets a share of the smoothing",
        "in_bits": "it is in bits",
    },
    problem=_problem,
    most_numbers=120,
    most_calls=2,
    digits=2,
)
item = experiment_item(
    "11.experiment",
    box,
    hints=(
        "With smoothing 0, what is left of the nine errors? And without any padding?",
        "Begin with logits whose loss you know: all 0, which costs ln V however the smoothing is "
        "shared. Then take logits that prefer one token, and see what the smoothing adds.",
        "With smoothing 0.0, two sentences of different lengths show what is done with padding, "
        "means and units. Without padding, a single token shows how the smoothing is shared, if "
        "its logits all differ and the smoothing is not small. For both calls, compute beforehand "
        "what each of the errors would give.",
    ),
)
