"""Whatever a learner's code does, `check` ends, says something, and the next check is right."""

import os
import random
import sys
import time
from fractions import Fraction

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F

from course_lib.checks import check, load_item
from course_lib.checks.diagnosis import trial
from course_lib.checks.diagnosis.diagnose import diagnose
from course_lib.checks.engine.call import Call, ask
from course_lib.errors import CourseError
from course_lib.viz.cards import card_css

ITEM = "06.padding_mask"
LONGEST_PAGE = len(card_css()) + 10_000


@pytest.fixture(autouse=True)
def _progress_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))


def right(tokens, pad_id):
    return (tokens != pad_id)[:, None, None, :]


def wrong(tokens, pad_id):
    return tokens == 0


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class NotText(Exception):
    def __str__(self):
        return None


class Floods(Exception):
    def __str__(self):
        print("flood " * 100_000)
        return "a\ud800\x1b[2J"


class Endless(Exception):
    def __str__(self):
        while True:
            pass


class Leaves(Exception):
    def __str__(self):
        raise SystemExit


class Patches(Exception):
    def __str__(self):
        Tensor.any = lambda *a, **k: False
        return "patched"


class Lies:
    """It says that it is a tensor, equal to all."""

    __hash__ = object.__hash__
    shape, dtype, ndim = (3, 1, 1, 5), torch.bool, 4
    __class__ = property(lambda self: Tensor)

    def __eq__(self, other):
        return True

    def cpu(self):
        return self

    def is_floating_point(self):
        return False


class Sub(Tensor):
    @classmethod
    def __torch_function__(cls, *args, **kwargs):
        return True


class BrokenSequence(list):
    def __getitem__(self, index):
        raise RuntimeError("not this one")

    def __iter__(self):
        raise RuntimeError("nor one after the other")


class Strange(Tensor):
    @classmethod
    def __torch_function__(cls, *args, **kwargs):
        raise RuntimeError("no operation")


class EqualToAll:
    __hash__ = object.__hash__

    def __eq__(self, other):
        return True


class NotEvenEqual:
    def __eq__(self, other):
        raise RuntimeError("cannot tell")


class NeverShown:
    def __repr__(self):
        raise RuntimeError("cannot be shown")


def raising(error):
    def answer(tokens, pad_id):
        raise error

    return answer


def returning(make):
    def answer(tokens, pad_id):
        return make(right(tokens, pad_id))

    return answer


def circle(x):
    loop = []
    loop.append(loop)
    return loop


ODD = {
    "meta": lambda x: x.to("meta"),
    "sparse": lambda x: x.to_sparse(),
    "nested": lambda x: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "quantised": lambda x: torch.quantize_per_tensor(x.float(), 0.1, 0, torch.quint8),
    "complex": lambda x: x.to(torch.complex64),
    "broken sequence": lambda x: BrokenSequence([x]),
    "circle": circle,
    "equal to all": lambda x: EqualToAll(),
    "not even equal": lambda x: NotEvenEqual(),
    "never shown": lambda x: NeverShown(),
    "generator": lambda x: (row for row in x),
    "a type": lambda x: int,
    "bytes": lambda x: b"mask",
    "a set": lambda x: {1, 2},
    "a number": lambda x: 10**5000,
    "many entries": lambda x: [0] * 300_000,
    "many keys": lambda x: dict.fromkeys(range(300_000)),
    "a long key": lambda x: {"key" * 1_000_000: 1},
    "odd keys": lambda x: {NeverShown(): 1, Lies(): 2},
    "fake": lambda x: FakeTensorMode().from_tensor(x),
    "lies": lambda x: Lies(),
    "freed": lambda x: (x.untyped_storage().resize_(0), x)[1],
    "an exact fraction": lambda x: Fraction(10**400),
    "a module": lambda x: torch.nn.Linear(2, 2),
    "a view of nothing": lambda x: torch.empty(0),
    "a lone surrogate": lambda x: "\ud800",
}


@pytest.mark.slow
@pytest.mark.unmeasured  # two of them are 300,000 entries long
@pytest.mark.parametrize("name", ODD)
def test_a_strange_result_is_described(name):
    report = check(ITEM, returning(ODD[name]))
    assert not report.passed
    assert len(str(report)) < 5_000 and len(report._repr_html_()) < LONGEST_PAGE


def test_a_tensor_of_a_strange_subclass_is_its_numbers():
    assert check(ITEM, returning(lambda x: x.as_subclass(Strange))).passed
    assert not check(ITEM, returning(lambda x: (~x).as_subclass(Strange))).passed


@pytest.mark.parametrize(
    "error",
    [
        Unprintable(),
        Floods(),
        pytest.param(Endless(), marks=pytest.mark.slow),
        Leaves(),
        Patches(),
        type("E" * 1_000_000, (Exception,), {})(),
        NotText(),
        ValueError("flood " * 2_000_000),
        SystemExit(),
        GeneratorExit(),
        KeyboardInterrupt(),
        RecursionError(),
        MemoryError(),
        StopIteration(),
        AssertionError(),
        SyntaxError("invalid syntax"),
        BaseException("base"),
        ExceptionGroup("several", [ValueError("one"), TypeError("two")]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_any_exception_becomes_a_short_report(error):
    report = check(ITEM, raising(error))
    text = str(report)
    assert not report.passed and len(text) < 5_000 and len(report._repr_html_()) < LONGEST_PAGE
    assert ": ." not in text and ".." not in text.replace("...", "")
    assert text.encode() and "\x1b" not in text
    assert torch.ones(2, dtype=torch.bool).any() and not check(ITEM, wrong).passed


def test_output_is_hidden_and_settings_and_patches_are_undone(capfd, monkeypatch):
    def answer(tokens, pad_id):
        print("a flood " * 1000)
        print("an error " * 1000, file=sys.stderr)
        torch.set_default_device("meta")
        torch.set_default_dtype(torch.float64)
        torch.use_deterministic_algorithms(True)
        sys.setrecursionlimit(5_000)
        os.environ["LEFT_BEHIND"] = "1"
        os.environ.pop("PATH", None)
        os.chdir("/")
        torch.isclose = torch.equal = lambda *a, **k: torch.tensor(True)
        Tensor.any = Tensor.all = lambda *a, **k: False
        F.softmax = None
        from course_lib.checks.diagnosis import naming, trial
        from course_lib.checks.engine import call, compare

        compare.first_difference = compare.answers_differ = lambda *a, **k: None
        trial.answers_differ = naming.answers_differ = lambda *a, **k: None
        from course_lib.checks.items.masks import padding_mask

        padding_mask.item.probes = []
        padding_mask.item.use = lambda *a: None
        call.SECONDS = 0
        return tokens == 0

    before = (os.getcwd(), dict(os.environ), sys.getrecursionlimit())
    softmax = F.softmax
    assert not check(ITEM, answer).passed
    assert (os.getcwd(), dict(os.environ), sys.getrecursionlimit()) == before
    assert torch.get_default_device() == torch.device("cpu")
    assert torch.get_default_dtype() == torch.float32
    assert not torch.are_deterministic_algorithms_enabled()
    assert F.softmax is softmax and "any" not in vars(Tensor)
    assert torch.ones(2, dtype=torch.bool).any()
    assert not check(ITEM, wrong).passed and check(ITEM, right).passed
    assert "flood" not in "".join(capfd.readouterr()) and random.random() < 1


@pytest.mark.slow
def test_the_notebooks_default_dtype_and_device_change_no_check_and_stay(monkeypatch):
    monkeypatch.setattr(trial, "_expected_answers", {})  # the course's own answers come then, too
    item = load_item("03.feed_forward")
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    try:
        assert trial.expected_answers(item.probes[0], item, seed=7)
        assert diagnose(item, item.reference).status == "passed"
        assert diagnose(item, item.misconceptions[0].subject).misconceptions
        assert str(check("06.masked_softmax", lambda scores, mask: scores.cos() ** 3))
        assert torch.get_default_dtype() == torch.float64
        assert torch.empty(1).is_meta
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)
    assert diagnose(item, item.reference).status == "passed"


@pytest.mark.parametrize("device", ["cuda", "mps", "cuda:7"])
def test_a_check_works_where_the_default_device_is_not_there(device):
    item = load_item("03.feed_forward")
    torch.set_default_device(device)
    try:
        assert diagnose(item, item.reference).status == "passed"
        assert diagnose(item, item.misconceptions[0].subject).misconceptions
    finally:
        torch.set_default_device(None)


def test_slow_answers_end_in_time_and_say_so(monkeypatch):
    monkeypatch.setattr(sys.modules["course_lib.checks.diagnosis.diagnose"], "SECONDS_IN_ALL", 0.5)

    def slow(tokens, pad_id):
        time.sleep(0.2)
        return right(tokens, pad_id)

    start = time.monotonic()
    report = check(ITEM, slow)
    assert time.monotonic() - start < 5 and "was stopped" in str(report)


def test_the_report_is_about_the_call_that_was_stopped(monkeypatch):
    monkeypatch.setattr(sys.modules["course_lib.checks.diagnosis.diagnose"], "SECONDS", 0.3)

    def wrong_then_endless(tokens, pad_id):
        while pad_id != 0:  # in the second test at the earliest
            pass
        return tokens == pad_id

    report = check(ITEM, wrong_then_endless)
    failed = report.diagnosis.failed
    assert len(failed) > 1 and report.misconception == "stopped"
    words = dict(report.remarks())
    assert "Your code was stopped: still running" in words["What I see"]
    assert "pad_id 0" not in words["When"] and "pad_id" in words["When"]
    assert report.example is None and "Try it" not in words  # it would not end there either


@pytest.mark.parametrize(
    "line, words",
    [
        (None, "You haven't named one yet."),
        (lambda: torch.tensor([1, 2]), "Expected the number of a line, got tensor"),
        (lambda: "3", "Expected the number of a line, got '3'."),
        (lambda: undefined, "raised NameError"),  # noqa: F821
        (lambda: 99, "It isn't line 99."),
        (99, "It isn't line 99."),
        (lambda: True, "Expected the number of a line"),
        (lambda: EqualToAll(), "Expected the number of a line"),
    ],
)
def test_the_wrong_line_and_the_fix_are_judged_apart(line, words):
    item = load_item("06.bug")
    report = check("06.bug", item.reference, line)
    assert not report.passed
    assert words in str(report) and "Your fix is right." in str(report)


def test_the_wrong_line_may_be_a_number():
    item = load_item("06.bug")
    assert check("06.bug", item.reference, item.bug.line).passed
    report = check("06.bug", lambda *args: None, item.bug.line)
    assert f"You found it: line {item.bug.line}." in str(report)


def leaves_a_profiler(x):
    sys.setprofile(lambda *args: None)


def leaves_a_function_mode(x):
    torch.overrides.BaseTorchFunctionMode().__enter__()


def leaves_a_global_hook(x):
    torch.nn.modules.module.register_module_forward_hook(lambda *args: torch.zeros(1))


def patches_the_standard_library(x):
    import html
    import inspect
    import operator
    import re

    operator.is_ = html.escape = re.search = inspect.signature = lambda *a, **k: True
    time.monotonic = time.perf_counter = os.getcwd = lambda: 1 / 0


def patches_the_package(x):
    import course_lib.checks as checks

    checks.refuse_borrowed_answer = lambda diagnosis: 1 / 0


def empties_another_item(x):
    from course_lib.checks.items.two_sentences import target_only_entropy

    target_only_entropy.item.probes = []


def leaves_autocast_on(x):
    torch.autocast("cpu", dtype=torch.bfloat16).__enter__()


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        leaves_a_profiler,
        leaves_a_function_mode,
        leaves_a_global_hook,
        patches_the_standard_library,
        patches_the_package,
        empties_another_item,
        leaves_autocast_on,
    ],
)
def test_what_is_left_behind_changes_no_later_check(change):
    def answer(tokens, pad_id):
        change(tokens)
        return wrong(tokens, pad_id)

    for _ in range(2):
        assert not check(ITEM, answer).passed
    assert check(ITEM, right).passed and not check(ITEM, wrong).passed
    assert sys.getprofile() is None and not torch.is_autocast_enabled("cpu")
    torch.autocast_increment_nesting()
    assert torch.autocast_decrement_nesting() == 0
    item = load_item("03.feed_forward")
    assert check("03.feed_forward", item.reference).diagnosis.failed == []
    assert load_item("10.target_only_entropy").probes


@pytest.mark.slow
def test_a_recursion_without_a_limit_does_not_end_the_process():
    def endless(tokens, pad_id):
        sys.setrecursionlimit(10**9)
        return endless(tokens, pad_id)

    assert "RecursionError" in str(check(ITEM, endless))


def test_an_input_that_is_given_another_class_is_modified():
    def disguised(tokens, pad_id):
        result = right(tokens, pad_id)
        tokens.zero_()
        tokens.__class__ = Sub
        return result

    assert check(ITEM, disguised).misconception == "input_modified"


def test_a_seed_out_of_range_is_told():
    with pytest.raises(CourseError, match="seed must be"):
        check(ITEM, right, seed=2**70)


def test_an_input_whose_memory_is_freed_is_modified():
    def frees(tokens, pad_id):
        result = right(tokens, pad_id)
        tokens.untyped_storage().resize_(0)
        return result

    assert not check(ITEM, frees).passed


@pytest.mark.parametrize("arguments", [(right, ITEM), ([ITEM], right), (None, None)])
def test_arguments_in_another_order_are_told(arguments):
    with pytest.raises(CourseError, match="an item's id first"):
        check(*arguments)


@pytest.mark.parametrize("line", [10**400, float("nan"), Fraction(10**400)])
def test_any_number_may_be_named_as_the_wrong_line(line):
    report = check("06.bug", load_item("06.bug").reference, lambda: line)
    assert not report.passed and len(str(report)) < 3000


def test_a_line_that_cannot_be_read_is_left_out():
    error = ask(compiled_in("/dev/zero"), Call((1,))).failure
    assert error.kind == "ZeroDivisionError" and error.line == "line 1 of f: "
    long = ask(compiled_in("<cell>"), Call((1,))).failure
    assert len(long.line) < 300


def compiled_in(file):
    space = {}
    exec(compile("def f(x): return 1 / 0", file, "exec"), space)
    return space["f"]


@pytest.mark.slow
def test_a_huge_number_on_the_line_is_left_out_and_a_slow_call_is_not_made_again():
    def huge(tokens, pad_id):
        n, small, nothing = 10**5000, 7, None
        return tokens[n, small, nothing]

    assert "n 1000" not in str(check(ITEM, huge))
    calls = []

    def slow(tokens, pad_id):
        calls.append(1)
        time.sleep(1.05)
        return tokens

    report = check(ITEM, slow)
    made = len(calls)
    assert str(report) and len(calls) == made
