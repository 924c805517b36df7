import pytest

from course_lib.data import SentencePair
from course_lib.decoding import Translation
from course_lib.training import evaluate, load_task, teacher_forced, train, wrong_source_scores


@pytest.fixture
def parrot(toy, monkeypatch):
    """A translator that says the source again."""
    translator = load_task(toy).new_translator(toy, seed=0)
    monkeypatch.setattr(
        translator,
        "translate_all",
        lambda sentences: [Translation(s, s) for s in map(list, sentences)],
    )
    return translator


def pairs(*lines):
    return [SentencePair(tuple(s.split()), tuple(t.split())) for s, t in lines]


def test_evaluate_compares_free_running_translations_with_the_targets(parrot):
    assert evaluate(parrot, pairs(("a b", "a b"), ("c d", "c e"))).exact == 0.5


def test_the_wrong_source_control_gives_each_target_another_source(parrot):
    same = pairs(("a b", "a b"), ("c d", "c d"), ("e f", "e f"))
    assert evaluate(parrot, same).exact == 1
    assert wrong_source_scores(parrot, same).exact == 0


def test_teacher_forced_numbers_do_not_depend_on_the_batches(toy):
    task = load_task(toy)
    translator = train(toy, task=task).translator
    encoded = task.encode(task.valid)
    small = teacher_forced(translator, encoded, max_tokens=8)
    assert small == pytest.approx(teacher_forced(translator, encoded), abs=1e-4)
    assert 0 < small[1] <= 1
