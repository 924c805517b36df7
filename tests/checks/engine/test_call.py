import time
from contextlib import suppress

import pytest
import torch

from course_lib.checks.engine.call import Answer, Call, _names, ask, call_plainly


def raises(*args):
    raise ValueError("no such thing")


def loops_forever(x):
    while True:
        with suppress(Exception):
            x = x + 0


def interrupted(x):
    raise KeyboardInterrupt


def leaves_traces(x):
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    torch.manual_seed(3)
    print("a flood " * 1000)
    return x + torch.rand(1, dtype=x.dtype)


def edits_its_input(x):
    x.mul_(2)
    return x


def test_an_answer_is_the_detached_value():
    answer = ask(lambda x: x * 2, Call((torch.ones(2),), gradients=True))
    assert not answer.value["value"].requires_grad
    assert answer.failure is None and not answer.changed_inputs


def test_an_exception_is_recorded_with_the_line_of_the_learners_code():
    failure = ask(raises, Call((1,))).failure
    assert (failure.kind, failure.message) == ("ValueError", "no such thing")
    assert failure.line.endswith('raise ValueError("no such thing")')


def test_an_exception_inside_pytorch_is_recorded_with_the_learners_line_that_led_there():
    failure = ask(lambda x: torch.matmul(x, x), Call((torch.ones(2, 3),))).failure
    assert failure.kind == "RuntimeError" and "torch.matmul(x, x)" in failure.line


def test_of_the_line_only_variables_are_told():
    x, size, note = torch.ones(2, 3), 5, 7

    def fails():
        return torch.matmul(x, x), "size", note == 7, str(object=size)  # note the size, x of x

    variables = ask(fails, Call(())).failure.variables
    assert variables == "x (2, 3), note 7, size 5"
    assert list(_names('"size in size", b=3)  # it\'s x')) == []


def test_an_endless_loop_is_stopped_even_if_it_catches_exceptions():
    start = time.monotonic()
    failure = ask(loops_forever, Call((torch.ones(1),)), seconds=0.2).failure
    assert failure.kind == "TookTooLong" and time.monotonic() - start < 5
    assert "line" in failure.line


def test_an_interrupt_is_recorded_and_not_raised():
    assert ask(interrupted, Call((1,))).failure.kind == "Interrupted"


def test_global_settings_are_restored_and_output_is_hidden(capsys):
    torch.manual_seed(11)
    wanted = torch.rand(1)
    torch.manual_seed(11)
    ask(leaves_traces, Call((torch.ones(2),)))
    assert torch.get_default_dtype() == torch.float32 and torch.is_grad_enabled()
    assert torch.equal(torch.rand(1), wanted)
    assert capsys.readouterr().out == ""


def test_inputs_are_copies_and_changes_to_them_are_noticed():
    x = torch.ones(2)
    assert ask(edits_its_input, Call((x,))).changed_inputs
    assert x.tolist() == [1, 1]
    assert not ask(lambda x: x * 2, Call((x * torch.nan,))).changed_inputs
    assert ask(lambda rows: rows[0].append(3), Call(([[1, 2]],))).changed_inputs
    assert ask(lambda rows: rows[0].sort(), Call(([[2, 1]],))).changed_inputs
    assert not ask(lambda rows: sorted(rows[0]), Call(([[2, 1]],))).changed_inputs


def test_gradients_are_those_of_a_fixed_sum_of_the_outputs():
    x = torch.tensor([1.0, 2.0])
    answer = ask(lambda x: 3 * x, Call((x,), gradients=True))
    assert torch.allclose(answer.value["gradients"][0], 3 * torch.cos(torch.arange(2.0)))


def test_an_output_that_depends_on_no_input_has_no_gradient():
    answer = ask(lambda x: x.detach(), Call((torch.ones(2),), gradients=True))
    assert answer.value["gradients"] == [None]


def test_the_way_of_calling_a_subject_can_be_passed():
    assert ask(3, Call((4,)), lambda subject, x: subject + x) == Answer(7)
    assert call_plainly(max, 1, 2) == 2


@pytest.mark.parametrize("subject", [None, 3, "text"])
def test_calling_something_that_is_not_callable_is_a_failure(subject):
    assert ask(subject, Call((1,))).failure.kind == "TypeError"
