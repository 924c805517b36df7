"""What holds for every widget of a lesson: it responds, it has an alt text, it can be stored."""

import math

import pytest
import torch
from bs4 import BeautifulSoup
from ipywidgets import DOMWidget

from course_lib import viz
from course_lib.data.batching import bucket
from course_lib.training.schedules import inverse_sqrt_lr, warmup_cosine_lr
from course_lib.viz.plots.plot_beam import Branch
from course_lib.widget_output import WIDGET_VIEW

WORDS = "the dog barks .".split()


def attention_steps(_):
    vectors = torch.randn(3, 4, 8, generator=torch.Generator().manual_seed(0))
    return viz.attention_steps_widget(*vectors, WORDS)


def search(sentence, width, length_penalty):
    first = [Branch(("i",), 0.6), Branch(("me",), 0.4, fate="kept" if width > 1 else "dropped")]
    best = ("i", "<eos>") if length_penalty < 1 else ("i", "am", "<eos>")
    more = [
        Branch(best[:n], 0.5, fate="ended" if n == len(best) else "kept") for n in (2, len(best))
    ]
    return first[:width] + more[-(len(best) - 1) :], best


def train(lr, momentum, seed):
    losses = [math.exp(-lr * step / (1 - momentum)) + seed for step in range(50)]
    yield losses[:25], ""
    yield losses, "i want a beer"


# name → how to make it, and changes of its controls, each of which must be visible
WIDGETS = {
    "positions_widget": (
        lambda _: viz.positions_widget(),
        {"d_model": 8, "length": 128, "base": 100.0},
    ),
    "depth_widget": (lambda _: viz.depth_widget(), {"depth": 8, "norm": "pre"}),
    "attention_steps_widget": (attention_steps, {"query": 2, "steps": 2}),
    "einsum_widget": (lambda _: viz.einsum_widget(), {"subscripts": "ij,jk->ik"}),
    "mask_widget": (
        lambda _: viz.mask_widget(),
        {"pad_side": "left", "padding": False, "causal": False, "sentences": "we like tea / yes"},
    ),
    "block_widget": (
        lambda model: viz.block_widget(model, torch.tensor([[4, 5]]), torch.tensor([[1, 6]])),
        {"self_attention": False, "norms": False, "layer": 1, "residuals": False},
    ),
    "config_widget": (
        lambda _: viz.config_widget(),
        {"d_model": 1024, "d_ff": 512, "n_layers": 12, "vocabulary": 5_000, "tying": "none"},
    ),
    "batch_widget": (
        lambda _: viz.batch_widget([3, 9, 4, 8, 5, 7] * 4, bucket),
        {"max_tokens": 40},
    ),
    "live_training_widget": (
        lambda _: viz.live_training_widget(train, steps=50, floor=0.1155),
        {"lr": 0.1, "momentum": 0.5, "seed": 3},
    ),
    "schedule_widget": (
        lambda _: viz.schedule_widget({"paper": inverse_sqrt_lr, "cosine": warmup_cosine_lr}),
        {"warmup": 1000, "d_model": 64, "total": 50_000},
    ),
    "beam_widget": (
        lambda _: viz.beam_widget(search, ["Mir ist kalt."]),
        {"width": 1, "length_penalty": 1.5},
    ),
}


def test_every_widget_is_tested():
    assert set(WIDGETS) == {name for name in viz.__all__ if name.endswith("_widget")}


@pytest.fixture(params=WIDGETS, scope="module")
def made(request, model):
    make, changes = WIDGETS[request.param]
    return make(model), changes


@pytest.mark.slow
def test_every_change_of_a_control_changes_the_picture_and_its_alt_text(made):
    shown, changes = made
    for name, value in changes.items():
        picture, alt = shown.image.value, shown.alt
        shown.controls[name].value = value
        assert (shown.image.value != picture, shown.alt != alt) == (True, True), name
        assert 'role="status"' in shown.status.value


@pytest.mark.slow
def test_the_stored_form_is_a_picture_and_an_alt_text_with_a_number(made):
    data, _ = made[0]._repr_mimebundle_(include=None, exclude=None)
    assert set(data) == {WIDGET_VIEW, "text/html", "text/plain"}
    assert BeautifulSoup(data["text/html"], "html.parser").img["alt"] == data["text/plain"]
    assert any(character.isdigit() for character in data["text/plain"])
    assert len(made[0].image.value) < 60_000


def test_every_control_has_a_label(made):
    for control in made[0].controls.values():
        assert isinstance(control, DOMWidget)
        assert control.description
