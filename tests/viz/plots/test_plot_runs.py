import warnings

import numpy as np
import pytest
from matplotlib.colors import to_hex

from course_lib.viz.alt_text import describe
from course_lib.viz.display import to_png
from course_lib.viz.plots.plot_runs import curves_of, plot_runs, running_mean
from course_lib.viz.style import ACCENT, SOFT


def axes_of(figure):
    return {ax.get_title(loc="left").split(" (")[0]: ax for ax in figure.axes}


def legend_of(figure):
    return [text.get_text().strip() for text in figure.legends[0].get_texts()]


def test_a_run_shows_its_loss_its_metrics_and_its_learning_rate(make_run):
    axes = axes_of(plot_runs([make_run()]))
    assert list(axes) == [
        "Loss",
        "Teacher-forced accuracy",
        "Autoregressive exact match",
        "Autoregressive BLEU",
        "Learning rate",
    ]
    each, mean, validation = axes["Loss"].lines
    assert each.get_ydata()[0] == 8
    assert each.get_xdata()[[0, -1]].tolist() == [1, 40]
    assert mean.get_linewidth() > each.get_linewidth()
    assert validation.get_xdata().tolist() == [10, 20, 30, 40]
    assert axes["Teacher-forced accuracy"].lines[0].get_ydata().tolist() == [20, 40, 60, 80]
    assert axes["Autoregressive BLEU"].lines[0].get_ydata().tolist() == [20, 40, 60, 80]
    assert axes["Learning rate"].lines[0].get_ydata()[-1] == pytest.approx(1e-3)


def test_a_metric_that_was_not_measured_has_no_panel(make_run):
    run = make_run(epochs=[], learning_rates=[])
    assert list(axes_of(plot_runs([run]))) == ["Loss"]


def test_without_the_losses_of_steps_the_loss_is_that_of_the_validations(make_run):
    axes = axes_of(plot_runs([make_run(losses=[], learning_rates=[])]))
    training, validation = axes["Loss"].lines
    assert training.get_xdata().tolist() == validation.get_xdata().tolist() == [10, 20, 30, 40]
    assert training.get_ydata()[0] < validation.get_ydata()[0]


def test_a_score_of_zero_is_a_line_along_the_x_axis(make_run):
    ax = axes_of(plot_runs([make_run()]))["Autoregressive exact match"]
    assert ax.lines[0].get_ydata().tolist() == [0, 0, 0, 0]
    assert ax.get_ylim() == (0, 1)


def test_a_run_in_progress_shows_how_far_there_is_to_go(make_run):
    ax = axes_of(plot_runs([make_run()], total=200))["Loss"]
    assert ax.get_xlim()[1] >= 200


@pytest.mark.slow
def test_in_a_single_run_colours_distinguish_training_and_validation(make_run):
    figure = plot_runs([make_run()])
    each, mean, validation = axes_of(figure)["Loss"].lines
    assert to_hex(each.get_color()) == to_hex(mean.get_color()) == SOFT
    assert to_hex(validation.get_color()) == ACCENT
    assert legend_of(figure) == [
        "training loss, each step",
        "training loss, running mean",
        "validation",
    ]


def test_each_of_several_runs_has_its_own_colour_and_dashes(make_run):
    figure = plot_runs([make_run("a"), make_run("b", 20), make_run("c")])
    lines = axes_of(figure)["Autoregressive BLEU"].lines
    assert len({to_hex(line.get_color()) for line in lines}) == 3
    assert len({line.get_linestyle() for line in lines}) == 3
    assert legend_of(figure)[:3] == ["a", "b", "c"]
    assert figure.get_suptitle() == "3 training runs compared"


def test_no_two_of_many_runs_look_alike(make_run):
    figure = plot_runs([make_run(str(i), 10) for i in range(20)])
    lines = axes_of(figure)["Learning rate"].lines
    assert len({(to_hex(line.get_color()), line.get_linestyle()) for line in lines}) == 20


@pytest.mark.parametrize("name", ["_first", r"$\frac{$", "two\nlines\udc80", "x" * 300])
def test_any_name_can_be_drawn_and_is_in_the_legend(make_run, name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = plot_runs([make_run(name), make_run("other")])
        assert len(legend_of(figure)) == 5
        assert to_png(figure)
        assert to_png(plot_runs([make_run(name)]))
    assert max(map(len, legend_of(figure))) <= 61


def test_runs_whose_names_look_alike_are_numbered(make_run):
    long = "x" * 80
    short = {"epochs": [], "learning_rates": []}  # so that the alt text names every curve
    figure = plot_runs([make_run(name, **short) for name in (long, "b", f"{long}y", long)])
    names = legend_of(figure)[:4]
    cut = "x" * 55 + "…"
    assert names == ["x" * 59 + "…", "b", f"{cut} (2)", f"{cut} (3)"]
    assert all(f"{name}, loss (training)" in describe(figure) for name in names)


def test_nothing_to_draw_is_refused(make_run):
    with pytest.raises(ValueError, match="a run that took a step or was validated, got none"):
        plot_runs([make_run(losses=[], learning_rates=[], epochs=[])])


def test_the_running_mean_keeps_a_straight_line_and_reduces_noise():
    line = np.linspace(8, 2, 500)
    np.testing.assert_allclose(running_mean(line), line)
    noise = np.random.default_rng(0).normal(size=500)
    assert running_mean(noise)[20:-20].std() < 0.4 * noise.std()
    assert running_mean(np.array([3.0])).tolist() == [3.0]


def test_every_curve_belongs_to_its_run(make_run):
    curves = curves_of([make_run("a", 20), make_run("b", 30)])
    assert {curve.steps[-1] for curve in curves if curve.run == 0} == {20}
    assert {curve.steps[-1] for curve in curves if curve.run == 1} == {30}
