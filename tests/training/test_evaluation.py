import pytest

from course_lib.data import SentencePair
from course_lib.training import evaluate, load_task, teacher_forced, train, wrong_source_scores


class Parrot:
    """Says the source again."""

    def translate_all(self, sentences):
        return [" ".join(words) for words in sentences]


def pairs(*lines):
    return [SentencePair(tuple(s.split()), tuple(t.split())) for s, t in lines]


def test_evaluate_compares_free_running_translations_with_the_targets():
    assert evaluate(Parrot(), pairs(("a b", "a b"), ("c d", "c e"))).exact == 0.5


def test_the_wrong_source_control_gives_each_target_another_source():
    same = pairs(("a b", "a b"), ("c d", "c d"), ("e f", "e f"))
    assert evaluate(Parrot(), same).exact == 1
    assert wrong_source_scores(Parrot(), same).exact == 0


def test_teacher_forced_numbers_do_not_depend_on_the_batches(toy):
    task = load_task(toy)
    translator = train(toy, task=task).translator
    encoded = task.encode(task.valid)
    small = teacher_forced(translator, encoded, max_tokens=8)
    assert small == pytest.approx(teacher_forced(translator, encoded), abs=1e-4)
    assert 0 < small[1] <= 1
