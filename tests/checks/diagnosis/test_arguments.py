"""What is given to a call is told by the names that a learner knows."""

import torch

from course_lib.checks import check, load_item
from course_lib.checks.diagnosis.arguments import describe_arguments
from course_lib.checks.engine.call import Call
from course_lib.checks.engine.draw import Draw


def first_call(item_id, probe=0):
    item = load_item(item_id)
    return describe_arguments(item, item.probes[probe].calls(Draw(1))[0])


def test_tensors_are_told_as_shapes_and_what_is_left_out_as_none():
    item = load_item("04.scaled_dot_product_attention")
    calls = [call for probe in item.probes for call in probe.calls(Draw(1))]
    told = describe_arguments(item, calls[0], others=calls)
    assert told == "query (2, 3, 4, 6), key (2, 3, 5, 6), value (2, 3, 5, 7), mask None"


def test_a_module_is_told_with_what_it_is_made_and_called_with():
    told = first_call("03.feed_forward")
    assert told == "x (2, 3, 4), d_model 4, d_ff 6, dropout 0.0"


def test_a_list_is_written_out_and_nothing_of_the_check_itself_is_told():
    assert first_call("09.bucket").startswith("lengths [")
    assert "weights" not in first_call("07.encoder_block")


def test_a_report_tells_what_is_given():
    report = check("06.padding_mask", lambda tokens, pad_id: torch.zeros(3, 1, 1, 5).cos() > 2)
    assert "tokens (3, 5), pad_id 0." in str(report)


def test_the_names_of_a_function_are_those_that_the_learner_wrote():
    def causal_mask(size):
        return torch.ones(1, 1, size, size) > 0

    item = load_item("06.causal_mask")
    call = Call((4,))
    assert describe_arguments(item, call) == "query_length 4"
    assert (
        describe_arguments(item, call, others=[Call((4, 5))], subject=causal_mask)
        == "size 4, key_length None"
    )


def test_arguments_are_told_in_the_order_of_the_call_and_then_those_that_are_left_out():
    item = load_item("04.multi_head_attention")
    calls = [call for probe in item.probes for call in probe.calls(Draw(1))]
    told = describe_arguments(item, calls[0], others=calls)
    assert told.startswith("query (2, 5, 12), key (2, 5, 12), value (2, 5, 12), d_model 12")
    assert told.endswith("mask None")
