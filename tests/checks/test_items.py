"""The kill matrix and its like: what must hold of every item, whatever it asks for."""

import importlib.util
from collections import Counter
from pathlib import Path

import pytest

from course_lib.checks import TABLE, load_item, load_items
from course_lib.checks.diagnose import SEED, diagnose
from course_lib.checks.report import Report
from course_lib.checks.table import TOPICS

HERE = Path(__file__).parent
ROOMS = [
    number for number in TOPICS if importlib.util.find_spec(f"course_lib.checks.{TOPICS[number]}")
]
ITEMS = [item for number in ROOMS for item in load_items(number).values()]
MISTAKES = [(item, mistake) for item in ITEMS for mistake in item.mistakes]


def alternatives(topic):
    spec = importlib.util.spec_from_file_location(topic, HERE / "alternatives" / f"{topic}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ALTERNATIVES


def line_of(item):
    return (lambda: item.bug.line) if item.bug else None


def not_started(*args, **kwargs):
    raise NotImplementedError


def ids(pair):
    return f"{pair[0].id}-{pair[1].name}"


@pytest.fixture(autouse=True)
def _progress_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
@pytest.mark.parametrize("seed", [SEED, 77])
def test_the_reference_passes_on_any_numbers(item, seed):
    diagnosis = diagnose(item, item.reference, line_of(item), seed=seed)
    assert [str(trial.difference) for trial in diagnosis.failed] == []
    assert diagnosis.status == "passed"
    answers = [answer for trial in diagnosis.trials for answer in trial.expected]
    assert [answer.failure for answer in answers if answer.failure] == []


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_untouched_code_is_not_started_and_earns_nothing(item):
    report = Report(diagnose(item, not_started, not_started))
    assert (report.diagnosis.status, report.points) == ("not started", 0)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_an_item_has_at_least_three_mistakes_with_names_of_their_own(item):
    names = [mistake.name for mistake in item.mistakes]
    assert len(names) >= 3 and len(set(names)) == len(names)


@pytest.mark.parametrize("pair", MISTAKES, ids=ids)
def test_a_mistake_fails_and_is_called_by_its_name(pair):
    item, mistake = pair
    diagnosis = diagnose(item, mistake.subject, line_of(item))
    assert diagnosis.status == "not yet"
    assert diagnosis.mistake is not None and diagnosis.mistake.name == mistake.name


@pytest.mark.parametrize("pair", MISTAKES, ids=ids)
def test_what_is_said_of_a_mistake_is_short_and_whole(pair):
    _, mistake = pair
    for text in (mistake.symptom, mistake.why, mistake.hint):
        assert 10 < len(text) <= 330
        assert text == text.strip() and text[-1] in ".?!"


@pytest.mark.parametrize("number", ROOMS)
def test_right_answers_written_otherwise_raise_no_alarm(number):
    answers = alternatives(TOPICS[number])
    assert set(answers) == set(load_items(number))
    for item_id, subjects in answers.items():
        item = load_item(item_id)
        assert len(subjects) >= 3, item_id
        for subject in subjects:
            diagnosis = diagnose(item, subject, line_of(item))
            wrong = [str(trial.difference) for trial in diagnosis.failed]
            assert wrong == [], (item_id, subject.__name__)


@pytest.mark.parametrize("number", ROOMS)
def test_table_and_room_name_the_same_items(number):
    checked = {e.id for e in TABLE.values() if e.id.startswith(number) and e.kind != "written"}
    assert checked == set(load_items(number))
    kinds = Counter(e.kind for e in TABLE.values() if e.id.startswith(number))
    assert kinds["written"] >= 1 and kinds["bug"] >= 1 and kinds["code"] + kinds["bug"] >= 3
