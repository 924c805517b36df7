"""Nothing that a report tells is false, of the learner's code or of the course."""

import re
from functools import partial

import pytest
import torch
from torch import nn

from course_lib.checks import check, load_item, load_items
from course_lib.checks.diagnosis.arguments import name_float_input
from course_lib.checks.diagnosis.error_causes import find_error_cause
from course_lib.checks.engine.call import Answer, Call, Failure, describe_exception
from course_lib.checks.engine.compare import answers_differ
from course_lib.checks.table import TOPICS
from course_lib.decoding import evaluating, greedy_decode
from course_lib.model import FeedForward, MultiHeadAttention, Transformer, count_parameters

X = torch.ones(1)
TEXTS = {
    f"{item.id} {m.name}": f"{m.symptom} {m.why} {m.hint}"
    for number in TOPICS
    for item in load_items(number).values()
    for m in item.misconceptions
}


@pytest.fixture(autouse=True)
def _progress_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))


def powers_by_hand(scores, mask=None):
    powers = scores.exp() if mask is None else scores.exp().masked_fill(~mask, 0.0)
    return powers / powers.sum(dim=-1, keepdim=True)


class NoResidualAndDropoutLast(nn.Module):
    def __init__(self, d_model, dropout=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return self.dropout(self.norm(sublayer(x)))


class EditsItsInput(nn.Module):
    def __init__(self, d_model, dropout=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        x += self.dropout(sublayer(x))
        return self.norm(x)


def past_detached(attention, x, past):
    past = past and tuple(part.detach() for part in past)
    return load_item("13.cached_step").reference(attention, x, past)


def always_float32(logits, labels, pad_id):
    cost = -logits.float().log_softmax(dim=-1).gather(-1, labels[..., None])[..., 0]
    real = labels != pad_id
    return (cost * real).sum() / real.sum().clamp(min=1)


class FeedForwardKeepsItsDropout(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = nn.LayerNorm(d_model)
        self.norm_2 = nn.LayerNorm(d_model)
        self.norm_3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, target_mask=None, memory_mask=None):
        x = self.norm_1(x + self.dropout(self.self_attention(x, x, x, target_mask)))
        x = self.norm_2(x + self.dropout(self.cross_attention(x, memory, memory, memory_mask)))
        return self.norm_3(x + self.dropout(self.feed_forward(x)))


def line_5():
    return 5


def without_memory(block, x, memory, target_mask, memory_mask):
    y = block.norm_1(x)
    x = x + block.self_attention(y, y, y, target_mask)
    y = block.norm_2(x)
    x = x + block.cross_attention(y, y, y, None)
    return x + 2 * block.feed_forward(block.norm_3(x))


class MemoryDetached(Transformer):
    def decode(self, target, memory, source):
        return super().decode(target, memory.detach(), source)


class FeedForwardDetached(FeedForward):
    def forward(self, x):
        return super().forward(x).detach()


def embedding_as_output(model, tying):
    if tying != "none":
        model.output = model.target_embedding.tokens


def rate_or(otherwise, predicted, sure, possible):
    if not predicted and not sure:
        return otherwise
    return 1 - (len(predicted & sure) + len(predicted & possible)) / (len(predicted) + len(sure))


def wins_more(first, second, resamples):
    return second[resamples].mean() > first[resamples].mean()


def found_anywhere(outputs, references):
    share = sum(output in references for output in outputs) / len(references)
    return share, (share * (1 - share) / len(references)) ** 0.5


@torch.no_grad()
def probable_tokens_only(model, source, bos_id, eos_id, width, max_len, length_penalty):
    with evaluating(model):
        memory = model.encode(source)
        beams, ended = [(0.0, [])], []
        while beams:
            found = []
            for log_p, tokens in beams:
                logits = model.decode(torch.tensor([[bos_id, *tokens]]), memory, source)[0, -1]
                rows = enumerate(logits.log_softmax(dim=-1).tolist())
                found += [(log_p + more, [*tokens, token]) for token, more in rows if more > -20]
            found = sorted(found, reverse=True)[:width]
            beams = [f for f in found if f[1][-1] != eos_id and len(f[1]) < max_len]
            ended += [f for f in found if f not in beams]
    score, tokens = max((f[0] / ((5 + len(f[1])) / 6) ** length_penalty, f[1]) for f in ended)
    return tokens, score


def indices_as_tensors(lengths, max_tokens):
    batches = []
    for i in torch.tensor(lengths).argsort(stable=True):
        if batches and (len(batches[-1]) + 1) * lengths[i] <= max_tokens:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def test_the_call_to_try_is_one_of_the_test_with_the_cross_if_that_can_be_written_out():
    def inverted(tokens, pad_id):
        return (tokens == pad_id)[:, None, None, :]

    report = check("06.padding_mask", inverted)
    assert "This is a call that fails" in str(report)
    trial = report.diagnosis.most_telling_trial
    assert any(report.example.call is call for call in trial.calls)


@pytest.mark.parametrize(
    ("item", "subject"),
    [("13.cached_step", past_detached), ("06.masked_softmax", powers_by_hand)],
)
def test_the_call_to_try_shows_what_is_wrong_also_of_gradients(item, subject):
    example, right = check(item, subject).example, load_item(item).reference
    assert answers_differ(Answer(example.expected), Answer(example.run(subject))) is not None
    assert answers_differ(Answer(example.expected), Answer(example.run(right))) is None


def test_the_call_to_try_shows_the_dtype_where_that_alone_is_wrong():
    text = str(check("10.masked_cross_entropy", always_float32))
    assert "# expected: torch.float64\n" in text and "# got: torch.float32" in text


def test_the_call_to_try_shows_dtypes_that_differ_also_where_digits_do():
    def in_float64(length, d_model):
        frequencies = 10000.0 ** (-torch.arange(0, d_model, 2).double() / d_model)
        angles = torch.arange(length)[:, None] * frequencies
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)

    text = str(check("01.sinusoidal_positions", in_float64))
    assert re.search(r"# expected: .*torch\.float32\n", text)
    assert re.search(r"# got: .*torch\.float64", text)


@pytest.mark.slow
def test_a_test_of_which_all_calls_end_in_errors_may_fail_for_another_reason():
    def negative_without_a_mask(scores, mask=None):
        return scores.masked_fill(~mask, -1e9).softmax(dim=-1)

    diagnosis = check("06.masked_softmax", negative_without_a_mask).diagnosis
    assert diagnosis.may_hide_more


def test_an_error_of_a_special_case_is_not_told_of_a_plain_case_that_is_wrong():
    def rate(predicted, sure, possible):
        hits = len(predicted & sure) + len(predicted & possible)
        return 1 - hits / len(predicted) + len(sure)

    text = str(check("14.alignment_error_rate", rate))
    assert "rate: expected" in text and "you divide 0 by 0" not in text


def test_the_call_to_try_tells_of_an_argument_that_is_changed():
    assert "# your result, and an argument is changed" in str(check("03.add_norm", EditsItsInput))


def test_an_exponential_by_hand_and_a_division_by_nothing_are_two_errors():
    report = check("06.masked_softmax", powers_by_hand)
    assert report.misconception == "minus_infinity + powers_by_hand"


def test_where_no_number_could_be_compared_nothing_is_told_of_numbers():
    text = str(check("08.count_parameters", lambda config: float(count_parameters(config))))
    assert "Your count is a float" in text and "No number of yours could be compared yet" in text
    assert "your code does what" not in text and "perhaps for the same reason" in text


def test_where_training_mode_could_not_be_compared_the_report_says_so():
    text = str(check("03.add_norm", NoResidualAndDropoutLast))
    assert (
        "you don't add x" in text
        and "When this is gone, more of your results can be compared" in text
    )
    assert "perhaps for the same reason" in text


def test_too_large_a_k_of_topk_is_no_index():
    with pytest.raises(RuntimeError) as error:
        torch.zeros(3).topk(5)
    name, meaning = find_error_cause(describe_exception(error.value))
    assert name == "too_many_asked_for" and "`topk`" in meaning


def test_a_default_dropout_inside_a_submodule_is_named_with_its_random_numbers():
    report = check("07.decoder_block", FeedForwardKeepsItsDropout)
    assert report.misconception == "DropoutInsideFeedForward"


def test_a_size_that_another_axis_has_is_not_called_too_long_by_some_number():
    text = str(check("05.puzzle_4", lambda weights: weights.diagonal(0, 2, 3).mean(dim=1)))
    assert "5 and not 3: the size of another axis of the input" in text and "too long" not in text


@pytest.mark.slow
def test_a_column_too_many_after_the_right_tokens_is_told_as_that():
    def one_column_more(*args):
        found = greedy_decode(*args)
        return torch.cat([found, torch.zeros_like(found[:, :1])], dim=1)

    text = str(check("13.greedy_decode", one_column_more))
    assert "the right numbers, and more of them at the end of axis 1" in text


def test_of_lone_numbers_it_is_told_what_has_no_effect_on_them():
    text = str(check("02.embedding_std", lambda d_model: 0.3))
    assert "stays the same when `d_model` changes" in text and "all numbers" not in text


def test_the_line_of_an_error_is_called_one_of_the_code_and_not_of_the_function():
    assert (
        Failure("E", "", line="line 26 of f: x of y").location
        == "Line 26 of your code, in f: x of y"
    )
    assert Failure("E", "", line="line 2: x of y").location == "Line 2 of your code: x of y"


def test_two_errors_are_told_as_what_each_does_without_the_other():
    def float32_and_zero(logits, labels, pad_id):
        return always_float32(logits, labels, 0)

    text = str(check("10.masked_cross_entropy", float32_and_zero))
    assert "Two errors at once. What each of them would do without the other:" in text


@pytest.mark.slow
def test_a_function_with_a_module_is_told_of_its_inputs_by_their_own_names():
    text = str(check("07.bug", without_memory, line_5))
    assert "stays the same when `memory` changes" in text
    assert "x (2, 4, 8), memory (2, 6, 8), target_mask None, memory_mask None." in text


@pytest.mark.slow
def test_what_is_given_to_a_method_is_told_by_the_names_of_that_method():
    report = check("08.transformer", MemoryDetached)
    assert "target (3, 4), memory (3, 5, 8), source (3, 5)." in str(report)
    call = report.diagnosis.most_telling_trial.first_wrong
    assert name_float_input(report.diagnosis.item, call, number=0) == "memory"


def test_the_input_that_gets_no_gradient_is_named():
    def both_ends(tokens, vectors, table, encodings):
        embedded = table[tokens] * table.size(1) ** 0.5
        return embedded + encodings[: tokens.size(1)], vectors.data @ table.T * 1.0001

    assert "No gradient reaches `vectors`:" in str(check("02.bug", both_ends, line_5))
    assert (
        name_float_input(load_item("13.cached_step"), Call((X, (X, X)), {}), number=2) == "past[1]"
    )
    assert name_float_input(load_item("03.add_norm"), Call((X,), {"matrix": X}), number=1) == ""


def test_a_result_that_depends_on_no_parameter_is_told_as_that_and_not_as_an_error_of_the_code():
    text = str(check("03.feed_forward", FeedForwardDetached))
    assert "No gradient reaches any parameter" in text and "`detach`" in text
    assert "RuntimeError" not in text


@pytest.mark.slow
def test_an_error_that_the_check_raises_itself_is_not_told_as_one_of_the_code():
    text = str(check("08.tie", embedding_as_output))
    assert "Calling your code, or using what it made, raised RuntimeError" in text


@pytest.mark.parametrize(
    "otherwise, told",
    [
        (ValueError("no links"), "returns an exception, which isn't raised"),
        ("no links", "returns a value of type str"),
    ],
)
def test_what_is_returned_instead_of_an_error_is_told(otherwise, told):
    report = check("14.alignment_error_rate", partial(rate_or, otherwise))
    assert told in str(report) and report.misconception != "nothing_is_perfect"


@pytest.mark.slow
def test_the_type_of_a_tensor_without_axes_is_told_as_that_of_a_tensor():
    text = str(check("12.paired_bootstrap", wins_more))
    assert "expected a number, got a tensor of shape (), torch.bool" in text


@pytest.mark.slow
def test_a_mask_of_numbers_is_not_told_which_numbers_it_holds():
    def ones(tokens, pad_id):
        return torch.ones(len(tokens), 1, 1, tokens.size(1))

    text = str(check("06.padding_mask", ones))
    assert "Your mask holds numbers, such as 1 and 0, instead of booleans." in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "item, subject",
    [
        ("12.bug", found_anywhere),
        ("13.beam_search", probable_tokens_only),
        ("09.bucket", indices_as_tensors),
    ],
)
def test_an_answer_that_most_calls_do_not_show_to_be_wrong_does_not_pass(item, subject):
    assert not check(item, subject, 8 if item == "12.bug" else None).passed


@pytest.mark.parametrize(
    "claim",
    [
        "published systems pads with",  # its pad_id is 1, and its batches are padded with 0
        "so the first two columns are right",
        "adding a constant to all of them",
        "A new nn.Linear in place of the output layer",  # it may be the same one, without its bias
        "and so do the embeddings",  # also of the right answer
        "every paper",
        "(have to be|wants labels of) int64",  # PyTorch takes uint8, too
        "the deeper it is",  # nobody has measured that
    ],
)
def test_no_text_makes_a_claim_that_was_found_false(claim):
    assert [name for name, text in TEXTS.items() if re.search(claim, text)] == []


def test_a_dtype_that_no_named_error_explains_is_told_as_well():
    def swapped(target, pad_id=0):
        labels = target[:, 1:].masked_fill(target[:, :-1] == pad_id, pad_id)
        return labels.float(), target[:, :-1]

    report = check("09.teacher_forcing", swapped)
    assert "A dtype is wrong, too: expected torch.int64, got torch.float32." in str(report)


def test_a_dtype_that_the_named_error_explains_is_told_once():
    report = check(
        "06.padding_mask", lambda tokens, pad_id: (tokens != pad_id)[:, None, None] * 1.0
    )
    assert report.misconception == "numbers_instead_of_booleans"
    assert "A dtype is wrong, too" not in str(report)
