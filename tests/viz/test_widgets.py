import ipywidgets as widgets
import pytest
import torch

from course_lib.viz.curves import plot_curves
from course_lib.viz.widgets import attention_widget, explore, make_control

VIEW = "application/vnd.jupyter.widget-view+json"
QUERIES = ["the", "dog"]
KEYS = ["der", "Hund", "."]


def draw(depth=3, norm="post"):
    if depth == 9:
        raise ValueError("nine is <too> deep")
    ax = plot_curves({norm: [0.0, depth]}, x_label="x", y_label="y", title=norm)
    return ax, f"A line up to {depth} with {norm}-norm."


def explorer():
    return explore(draw, depth=(1, 9), norm=["pre", "post"])


def attention():
    weights = torch.zeros(2, 2, 2, 3)
    weights[..., 0] = 1
    weights[1, 0] = torch.tensor([[0.0, 0.0, 1.0], [0.1, 0.7, 0.2]])
    return weights


def test_moving_a_control_changes_the_picture_and_its_words():
    shown = explorer()
    before = shown.image.value
    shown.controls["depth"].value = 5
    assert shown.image.value != before
    assert shown.alt == "A line up to 5 with post-norm."
    assert shown.alt in shown.words.value and 'role="status"' in shown.words.value


def test_moving_a_control_back_restores_the_very_same_picture():
    shown = explorer()
    before = shown.image.value
    shown.controls["norm"].value = "pre"
    shown.controls["norm"].value = "post"
    assert shown.image.value == before


def test_what_goes_wrong_while_drawing_is_said_and_the_last_picture_stays():
    shown = explorer()
    before = shown.image.value
    with pytest.raises(ValueError, match="nine"):
        shown.controls["depth"].value = 9
    assert "ValueError: nine is &lt;too&gt; deep" in shown.words.value
    assert 'role="alert"' in shown.words.value
    assert shown.image.value == before
    shown.controls["depth"].value = 4
    assert "Not drawn" not in shown.words.value


def test_a_first_picture_that_cannot_be_drawn_is_an_error_at_once():
    with pytest.raises(ZeroDivisionError):
        explore(lambda depth: 1 / 0, depth=(1, 2))


def test_a_stored_notebook_keeps_the_picture_and_its_words():
    shown = explorer()
    data, metadata = shown._repr_mimebundle_(include=None, exclude=None)
    assert set(data) == {VIEW, "image/png", "text/plain"}
    assert data[VIEW]["model_id"] == shown.box.model_id
    assert data["text/plain"] == "A line up to 3 with post-norm."
    assert metadata["image/png"]["alt"] == data["text/plain"]


def test_controls_start_at_the_defaults_of_the_drawing():
    shown = explorer()
    assert {name: c.value for name, c in shown.controls.items()} == {"depth": 3, "norm": "post"}


def test_a_control_without_a_default_starts_at_its_first_value():
    assert make_control("depth", (2, 8)).value == 2
    assert make_control("norm", ["pre", "post"]).value == "pre"


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ((1, 9), widgets.IntSlider),
        ((8, 64, 8), widgets.IntSlider),
        ((0.0, 1), widgets.FloatSlider),
        ((0, 1, 0.1), widgets.FloatSlider),
        (["a", "b"], widgets.Dropdown),
        (True, widgets.Checkbox),
        ("der Hund", widgets.Text),
    ],
)
def test_what_is_given_decides_the_kind_of_control(spec, kind):
    assert type(make_control("name", spec)) is kind


def test_a_given_state_is_kept():
    assert make_control("residual", True, start=False).value is True
    assert make_control("words", "der Hund", start="").value == "der Hund"
    ready = widgets.FloatLogSlider(description="base")
    assert make_control("base", ready) is ready


def test_a_slider_keeps_its_ends_and_its_step():
    slider = make_control("d_model", (8, 64, 8))
    assert (slider.min, slider.max, slider.step) == (8, 64, 8)


def test_every_control_says_its_name():
    assert make_control("warm_up", (1, 2)).description == "warm up"
    assert make_control("d_model", (1, 2)).description == "d_model"


@pytest.mark.parametrize("spec", [(1,), (1, 2, 3, 4), None, ("a", "b")])
def test_a_control_of_no_known_kind_is_refused(spec):
    with pytest.raises(TypeError, match=r"control 'depth' must be \(low, high\), .* got"):
        make_control("depth", spec)


def test_layer_and_head_are_the_ones_that_are_indexed():
    shown = attention_widget(attention(), QUERIES, KEYS)
    assert "'the' reads 'der'" in shown.alt
    shown.controls["layer"].value = 1
    assert "'the' reads '.'" in shown.alt
    shown.controls["head"].value = 1
    assert "'the' reads 'der'" in shown.alt


def test_the_mean_of_the_heads_is_one_of_the_choices():
    shown = attention_widget(attention(), QUERIES, KEYS)
    shown.controls["layer"].value = 1
    shown.controls["head"].label = "mean of heads"
    shown.controls["query"].label = "0 the"
    assert shown.alt == "'the' reads most: 'der' 0.50, '.' 0.50, 'Hund' 0.00."


def test_a_chosen_query_says_its_top_three_keys_and_is_framed():
    shown = attention_widget(attention(), QUERIES, KEYS)
    shown.controls["layer"].value = 1
    shown.controls["query"].label = "1 dog"
    assert shown.alt == "'dog' reads most: 'Hund' 0.70, '.' 0.20, 'der' 0.10."
    (frame,) = shown.draw(layer=1, head=0, query=1)[0].patches
    assert (frame.get_y(), frame.get_height(), frame.get_width()) == (0.5, 1, 3)


def test_the_title_tells_the_entropy():
    title = attention_widget(attention(), QUERIES, KEYS, title="Cross").draw()[0].get_title("left")
    assert title == "Cross, layer 0, head 0\nentropy 0.00 nats (uniform 1.10)"


def test_one_layer_and_no_key_tokens_mean_self_attention():
    weights = torch.eye(2).expand(3, 2, 2)
    shown = attention_widget(weights, QUERIES)
    assert list(shown.controls["layer"].options) == [0]
    assert len(shown.controls["head"].options) == 4
    shown.controls["query"].label = "1 dog"
    assert shown.alt == "'dog' reads most: 'dog' 1.00, 'the' 0.00."


def test_masked_keys_are_hatched_in_the_widget():
    mask = torch.tensor([True, True, False])
    image = attention_widget(attention()[0], QUERIES, KEYS, mask=mask).draw()[0].images[0]
    assert image.get_array().mask[:, 2].all()


def test_attention_with_a_batch_is_refused():
    with pytest.raises(ValueError, match=r"got \(1, 2, 2, 2, 3\): is a batch dimension left"):
        attention_widget(attention()[None], QUERIES, KEYS)


def test_transposed_attention_is_refused():
    with pytest.raises(ValueError, match="are they transposed"):
        attention_widget(attention().mT, QUERIES, KEYS)
