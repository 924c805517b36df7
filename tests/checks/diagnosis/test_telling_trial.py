"""Which test gets the ✗: the plainest one that fails, or the one that an error is about."""

import pytest
from torch.nn import functional as F

from course_lib.checks import load_item
from course_lib.checks.diagnosis.diagnose import diagnose
from course_lib.data import teacher_forcing


def smoothed_train_step(model, batch, optimizer, pad_id):
    decoder_input, labels = teacher_forcing(batch.target, pad_id)
    logits = model(batch.source, decoder_input)
    loss = F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad_id, label_smoothing=0.1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


@pytest.mark.slow
def test_the_cross_stands_at_the_plain_case_if_that_is_wrong():
    diagnosis = diagnose(load_item("10.train_step"), smoothed_train_step)
    assert diagnosis.status == "not yet"
    assert diagnosis.most_telling_trial is diagnosis.trials[0]


@pytest.mark.parametrize(
    "item_id, name, words",
    [
        ("02.transformer_embedding", "DropsAlways", "dropout is applied to the sum"),
        ("13.beam_search", "ended_talk_on", "beams that end become hypotheses"),
        ("12.bleu", "long_ones_rewarded", "translations that are too short get a penalty"),
        ("11.label_smoothed_loss", "pads_counted", "padding isn't counted"),
        ("10.train_step", "no_shift", "one step"),
    ],
)
def test_of_a_named_error_the_cross_stands_where_it_is_about_that(item_id, name, words):
    item = load_item(item_id)
    subject = next(m.subject for m in item.misconceptions if m.name == name)
    diagnosis = diagnose(item, subject)
    assert diagnosis.misconception.name == name
    assert diagnosis.most_telling_trial.probe.property.startswith(words)
    others = [trial for trial in diagnosis.failed if trial is not diagnosis.most_telling_trial]
    assert others and all(map(diagnosis.may_follow, others))
