"""Widgets that take a function or data: what they check, and what they show."""

import math

import pytest
import torch

import course_lib.model as course
from course_lib.data.batching import bucket
from course_lib.errors import CourseError
from course_lib.training.schedules import inverse_sqrt_lr, one_cycle_lr, warmup_cosine_lr
from course_lib.viz.plots.plot_beam import Branch
from course_lib.viz.widgets.attention_steps_widget import attention_steps_widget
from course_lib.viz.widgets.batch_widget import batch_widget, in_order
from course_lib.viz.widgets.beam_widget import beam_widget
from course_lib.viz.widgets.config_widget import config_widget, flops_per_token
from course_lib.viz.widgets.depth_widget import depth_widget, stack_gradients
from course_lib.viz.widgets.live_training_widget import live_training_widget
from course_lib.viz.widgets.positions_widget import positions_widget
from course_lib.viz.widgets.schedule_widget import schedule_widget

LENGTHS = [3, 20, 4, 18, 5, 19, 6, 17]


def test_with_base_1_all_columns_vary():
    shown = positions_widget()
    shown.controls["base"].value = 1.0
    assert shown.alt.startswith("64 of 64 columns vary over 64 positions")


def test_only_a_residual_keeps_the_gradient_through_depth():
    assert 0 < stack_gradients(48, residual=False, norm="none")[0] < 1e-20
    assert stack_gradients(48, residual=False, norm="pre")[0] < 0.2
    for norm in ("none", "post", "pre"):
        assert 0.3 < stack_gradients(48, residual=True, norm=norm)[0] < 10


@pytest.mark.slow
def test_the_gradient_that_dies_stands_beside_those_that_do_not_which_end_at_the_first_layer():
    figure, words = depth_widget().draw(depth=12, norm="pre")
    assert figure.get_suptitle() == (
        "12 layers, pre-norm: with neither, almost nothing of the gradient arrives"
    )
    short, _ = depth_widget().draw(depth=2)
    assert short.get_suptitle().endswith("with neither, 0.24 of the gradient arrives")
    dying, living = figure.axes
    assert (dying.get_yscale(), living.get_yscale()) == ("log", "linear")
    assert [line.get_label() for line in dying.lines] == ["neither"]
    drawn = {line.get_label(): torch.tensor(line.get_ydata()) for line in living.lines}
    for name, residual, norm in (
        ("norm only", False, "pre"),
        ("residual only", True, "none"),
        ("residual and norm", True, "pre"),
    ):
        expected = stack_gradients(12, residual=residual, norm=norm)
        assert torch.allclose(drawn[name].flip(0).double(), expected) and drawn[name][0] == 1
        assert f"{name} {expected[0]:.2f}" in words


@pytest.mark.parametrize(("base", "lowest"), [(10_000.0, 0), (1.0, -1.05)])
def test_the_scale_of_the_similarity_begins_at_0_unless_it_falls_below(base, lowest):
    figure, _ = positions_widget().draw(base=base)
    [curve] = [ax for ax in figure.axes if ax.lines]
    assert curve.get_ylim() == (lowest, 1.05)


def test_the_gradient_widget_leaves_the_random_numbers_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    stack_gradients.cache_clear()
    stack_gradients(3, residual=True, norm="post")
    assert torch.equal(torch.rand(3), expected)


def test_each_step_of_attention_agrees_with_the_library():
    query, key, value = torch.randn(3, 1, 1, 4, 8, generator=torch.Generator().manual_seed(0))
    shown = attention_steps_widget(query, key, value, list("abcd"))
    context, weights = course.attention_matmul(query, key, value)
    for row in range(4):
        figure, words = shown.draw(query=row, steps=4)
        cells = [torch.tensor(ax.images[0].get_array().data[:, 0]) for ax in figure.axes]
        assert torch.allclose(cells[2], weights[0, 0, row], atol=1e-6)
        assert torch.allclose(cells[3], context[0, 0, row], atol=1e-6)
        best = int(weights[0, 0, row].argmax())
        framed = [patch.get_y() + 0.5 for patch in figure.axes[2].patches]
        assert framed == [best] and figure.get_suptitle() == (
            f"{'abcd'[row]!r} asks, {'abcd'[best]!r} answers: {weights[0, 0, row, best]:.2f}"
        )
        assert words.startswith(f"Step 4 of 4: {'abcd'[row]!r} attends most to")


def test_keys_with_equal_scores_answer_alike_and_a_zero_is_not_written():
    key = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    query = torch.tensor([[1.0, 0.0]]).repeat(3, 1)
    figure, _ = attention_steps_widget(query, key, torch.eye(3), list("abc")).draw(query=0, steps=3)
    assert figure.get_suptitle() == "'a' asks, 2 keys answer alike: 0.40 each"
    assert [text.get_text() for text in figure.axes[0].texts] == ["1.00", "1.00"]


def test_later_steps_are_neither_drawn_nor_described():
    vectors = torch.randn(3, 4, 8)
    figure, words = attention_steps_widget(*vectors, list("abcd"), start=1).draw(steps=1)
    assert [ax.get_visible() for ax in figure.axes] == [True, False, False, False]
    assert "'b' matches best" in words and "context" not in words


def test_attention_steps_refuse_what_does_not_fit():
    vectors = torch.randn(3, 4, 8)
    with pytest.raises(CourseError, match="do the tokens belong to these vectors"):
        attention_steps_widget(*vectors, list("abc"))
    with pytest.raises(CourseError, match="pick one sentence and one head first"):
        attention_steps_widget(*torch.randn(3, 2, 4, 8), list("abcd"))


def test_the_parameters_of_the_paper_s_base_model_are_counted():
    assert config_widget().alt.startswith("63,119,496 parameters, of which 40% feed-forward.")


def test_a_forward_pass_takes_two_operations_for_each_entry_of_a_matrix():
    config = course.preset("small", attention_bias=False, feed_forward_bias=False)
    model = course.Transformer(config)
    stacks = [*model.encoder.parameters(), *model.decoder.parameters(), model.output.weight]
    assert flops_per_token(config) == 2 * sum(p.numel() for p in stacks if p.ndim == 2)


def test_consecutive_sentences_share_a_batch_within_the_token_budget():
    batches = in_order(LENGTHS, 40)
    assert [i for batch in batches for i in batch] == list(range(8))
    assert batches == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert all(len(b) * max(LENGTHS[i] for i in b) <= 40 for b in batches)
    assert in_order([50], 40) == [[0]]


def test_bucketing_saves_padding_and_the_alt_text_says_how_much():
    shown = batch_widget(LENGTHS, bucket)
    shown.controls["max_tokens"].value = 80
    assert (
        "With at most 80 tokens per batch, 2 batches in corpus order are 41.0% padding" in shown.alt
    )


@pytest.mark.parametrize("lengths", [[], [3, 0], [4] * 201])
def test_lengths_that_cannot_be_drawn_are_refused(lengths):
    with pytest.raises(CourseError, match="positive lengths of 1 to 200 sentences, got"):
        batch_widget(lengths, bucket)


def test_batches_that_lose_a_sentence_are_refused():
    with pytest.raises(CourseError, match="each of the 8 sentences once, got 7 indices"):
        batch_widget(LENGTHS, lambda lengths, max_tokens: [list(range(7))])


def run_once(losses, output="x", **options):
    """A training function that yields only once, at its end."""
    return live_training_widget(
        lambda lr, momentum, seed: [(losses, output)], steps=3, floor=1.0, **options
    )


def test_a_run_that_diverges_is_drawn_up_to_there():
    assert run_once([2.0, 9.0, math.nan]).alt == (
        "lr 0.03, momentum 0.9, seed 0: after 2 steps the loss is 9.00, above the floor of 1 "
        "and diverged at step 3. Model output: x"
    )


def test_the_line_to_get_below_has_the_name_that_the_caller_gives():
    shown = run_once([2.0, 0.5], "", floor_label="target-only baseline")
    assert shown.alt.endswith("the loss is 0.50, below the target-only baseline of 1.")


@pytest.mark.slow
def test_the_curve_moves_while_a_model_trains():
    pictures = []

    def train(lr, momentum, seed):
        for step in range(1, 4):
            if pictures:  # what is in the notebook while the training goes on
                pictures.append((shown.image.value, shown.alt))
            yield [lr] * step, "done" if step == 3 else ""

    shown = live_training_widget(train, steps=3)
    pictures.append((shown.image.value, shown.alt))
    shown.controls["lr"].value = 0.1
    pictures.append((shown.image.value, shown.alt))
    _, first, *later = pictures
    assert first == pictures[0] and len({picture for picture, _ in [first, *later]}) == 4
    assert [words.split(": ", 1)[1] for _, words in later] == [
        "after 1 steps the loss is 0.10.",
        "after 2 steps the loss is 0.10.",
        "after 3 steps the loss is 0.10. Model output: done",
    ]


def test_the_x_axis_shows_the_whole_run_from_the_start():
    ax, _ = next(iter(run_once([2.0]).draw(lr=0.1, momentum=0.0, seed=0)))
    assert ax.get_xlim() == (0, 3)


def test_markup_in_the_output_of_a_model_is_escaped():
    shown = run_once([1.0], "<bos> <b>")
    assert "Model output: &lt;bos&gt; &lt;b&gt;" in shown.status.value


@pytest.mark.parametrize("progress", [[], [([], "")], [([math.nan], "")]])
def test_a_training_without_a_loss_is_refused(progress):
    with pytest.raises(CourseError, match="gave no finite loss: does train yield"):
        live_training_widget(lambda lr, momentum, seed: progress, steps=3)


def test_a_training_that_returns_once_is_refused():
    with pytest.raises(CourseError, match="got one tuple: does it return where it should yield"):
        live_training_widget(lambda lr, momentum, seed: ([1.0], "x"), steps=3)


def test_training_waits_until_a_slider_is_released():
    assert all(control.at_end for control in run_once([1.0]).controls.values())


def test_each_schedule_is_passed_what_it_requires():
    shown = schedule_widget(
        {
            "paper": inverse_sqrt_lr,
            "cosine": warmup_cosine_lr,
            "cycle": one_cycle_lr,
            "constant": lambda step: 1e-3,
        }
    )
    lines = {line.get_label(): line.get_data() for line in shown.draw()[0].lines}
    for name, rate in {
        "paper": lambda s: inverse_sqrt_lr(s, 512, 4000),
        "cosine": lambda s: warmup_cosine_lr(
            s, peak=(512 * 4000) ** -0.5, warmup=4000, total=20000
        ),
        "cycle": lambda s: one_cycle_lr(s, peak=(512 * 4000) ** -0.5, total=20000),
        "constant": lambda s: 1e-3,
    }.items():
        steps, rates = lines[name]
        assert [rate(int(s)) for s in steps] == pytest.approx(list(rates))


@pytest.mark.slow
def test_every_step_of_a_run_has_its_rate_from_the_first_to_the_last():
    shown = schedule_widget({"paper": inverse_sqrt_lr})
    for log_axes in (False, True):
        steps = shown.draw(total=10_000, log_axes=log_axes)[0].lines[0].get_xdata()
        assert (steps[0], steps[-1]) == (1, 10_000)


def test_a_peak_is_dotted_where_it_is_and_a_constant_rate_has_none():
    ax, _ = schedule_widget({"paper": inverse_sqrt_lr, "flat": lambda step: 2e-4}).draw()
    _, _, peak = ax.lines
    assert peak.get_xdata().tolist() == [4000]
    assert peak.get_ydata().tolist() == [inverse_sqrt_lr(4000, 512, 4000)]


def test_log_axes_end_a_factor_of_10_000_below_the_peak():
    ax, _ = schedule_widget({"cosine": warmup_cosine_lr}).draw(log_axes=True)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_ylim()[0] == pytest.approx((512 * 4000) ** -0.5 / 1e4)


def test_schedules_that_require_other_arguments_are_refused():
    with pytest.raises(
        CourseError, match="'mine' may require d_model, .* but requires 'factor': give"
    ):
        schedule_widget({"mine": lambda step, factor: factor})
    with pytest.raises(CourseError, match="at least one schedule, got none"):
        schedule_widget({})


def test_the_best_branch_is_named_without_its_end():
    tree = [Branch(("cold",), 0.5), Branch(("cold", "<eos>"), 0.25, fate="ended")]
    shown = beam_widget(lambda *_: (tree, ["cold", "<eos>"]), ["Kalt."])
    assert shown.alt == (
        "The tree shows 2 prefixes, 1 of them complete. The best is 'cold', with probability 0.25."
    )
    assert shown.draw("Kalt.")[0].get_title("left").startswith("Kalt. → cold\nwidth 3")


def test_a_beam_needs_a_sentence():
    with pytest.raises(CourseError, match="at least one sentence"):
        beam_widget(lambda *_: ([], []), [])
