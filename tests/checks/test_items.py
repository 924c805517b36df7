"""What must hold of every item, whatever it asks for; tools/items/item_rules.py has the rules."""

import importlib.util
import pkgutil
from collections import Counter
from pathlib import Path

import pytest

from course_lib.checks import TABLE, load_item, load_items
from course_lib.checks.diagnosis.diagnose import SEED, diagnose
from course_lib.checks.report.feedback import Report
from course_lib.checks.table import TOPICS
from tools.items.item_rules import RULES, enough_alternatives
from tools.items.misconception_matrix import line_of

HERE = Path(__file__).parent


def in_one_process(item, *values, id, marks=()):
    """All tests of an item in one process, since answers are cached per process."""
    return pytest.param(*values, id=id, marks=[pytest.mark.xdist_group(item.id), *marks])


ALL = [item for number in TOPICS for item in load_items(number).values()]
ITEMS = [in_one_process(item, item, id=item.id) for item in ALL]
MISCONCEPTIONS = [  # one of each item in `make test`
    in_one_process(
        item,
        item,
        misconception,
        id=f"{item.id}-{misconception.name}",
        marks=[pytest.mark.smoke] if misconception is item.misconceptions[0] else [],
    )
    for item in ALL
    for misconception in item.misconceptions
]


def alternatives(topic):
    spec = importlib.util.spec_from_file_location(topic, HERE / "alternatives" / f"{topic}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ALTERNATIVES


def fail_with(*problems):
    """Fail with what has to be done and nothing else, if there is a problem."""
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


def not_started(*args, **kwargs):
    raise NotImplementedError


@pytest.fixture(autouse=True)
def _progress_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))


@pytest.mark.parametrize("item", ITEMS)
@pytest.mark.parametrize(
    "seed", [SEED, pytest.param(77, marks=[pytest.mark.slow, pytest.mark.unmeasured])]
)
def test_the_reference_passes_with_any_seed(item, seed):
    diagnosis = diagnose(item, item.reference, line=line_of(item), seed=seed)
    fail_with(*(f"{item.id}: the reference fails: {t.difference}" for t in diagnosis.failed))
    assert diagnosis.status == "passed"
    answers = [answer for trial in diagnosis.trials for answer in trial.expected]
    assert [answer.failure for answer in answers if answer.failure] == []


@pytest.mark.parametrize("item", ITEMS)
def test_untouched_code_is_not_started_and_earns_nothing(item):
    report = Report(diagnose(item, not_started, line=not_started))
    assert (report.diagnosis.status, report.points) == ("not started", 0)


@pytest.mark.parametrize("item", ITEMS)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_an_item_keeps_the_rule(item, rule):
    fail_with(*rule(item))


@pytest.mark.slow
@pytest.mark.unmeasured  # the same lines as in grading/jail/test_marks_over_the_pipe.py
@pytest.mark.parametrize(("item", "misconception"), MISCONCEPTIONS)
def test_a_misconception_fails_and_is_called_by_its_name(item, misconception, ask_once):
    diagnosis = diagnose(item, misconception.subject, line=line_of(item), ask_learner=ask_once)
    if diagnosis.status != "not yet":
        fail_with(f"{item.id}: no test notices the misconception {misconception.name}")
    named = diagnosis.misconception.name if diagnosis.misconception else "nothing"
    if named != misconception.name:
        fail_with(f"{item.id}: the check calls the misconception {misconception.name} {named}")


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.parametrize("item", ITEMS)
def test_every_spelling_and_two_misconceptions_at_once_are_named(item, ask_once):
    known = item.misconceptions
    for misconception in known:
        for spelling in misconception.spellings:
            named = diagnose(
                item, spelling, line=line_of(item), ask_learner=ask_once
            ).misconceptions
            assert [m.name for m in named] == [misconception.name]
    for a, b in ((known[0], known[1]), (known[0], known[-1])):  # found early in a long search
        if (both := item.together(a, b)) is not None:
            diagnosis = diagnose(item, both, line=line_of(item), ask_learner=ask_once)
            assert diagnosis.status == "not yet" and diagnosis.misconceptions, (a.name, b.name)


@pytest.mark.parametrize("item", [item for item in ITEMS if item.values[0].variant])
def test_with_no_switch_on_the_answer_is_right(item):
    assert diagnose(item, item.variant(frozenset()), line=line_of(item)).status == "passed"


@pytest.mark.slow
@pytest.mark.unmeasured  # the same lines as for the reference, which is tested above
@pytest.mark.parametrize("number", TOPICS)
def test_correct_answers_written_in_other_ways_pass(number):
    answers = alternatives(TOPICS[number])
    assert set(answers) == set(load_items(number))
    problems = []
    for item_id, subjects in answers.items():
        item = load_item(item_id)
        problems += enough_alternatives(item_id, subjects)
        for subject in subjects:
            diagnosis = diagnose(item, subject, line=line_of(item))
            name = f"{item_id}: the correct answer {subject.__name__} fails"
            problems += [f"{name}: {trial.difference}" for trial in diagnosis.failed]
    fail_with(*problems)


@pytest.mark.parametrize("number", TOPICS)
def test_the_table_and_the_modules_name_the_same_items(number):
    entries = [entry for entry in TABLE.values() if entry.id.startswith(f"{number}.")]
    package = importlib.import_module(f"course_lib.checks.items.{TOPICS[number]}")
    names = [module.name for module in pkgutil.iter_modules(package.__path__)]
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    implemented = {module.item.id for module in modules if hasattr(module, "item")}
    assert implemented == {entry.id for entry in entries if entry.kind != "written"}
    assert all(load_item(item_id).id == item_id for item_id in implemented)
    kinds = Counter(entry.kind for entry in entries)
    assert kinds["written"] >= 1 and kinds["bug"] >= 1 and kinds["code"] + kinds["bug"] >= 3
