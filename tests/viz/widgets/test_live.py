from types import SimpleNamespace

import nbformat
import pytest
from nbclient import NotebookClient

from course_lib.viz.widgets import live
from course_lib.viz.widgets.live import PAUSE, SHARE, live_curves

TRAINING = """
from types import SimpleNamespace
from course_lib.viz import live_curves
live = live_curves(total=3)
for step in (1, 2, 3):
    live.step(SimpleNamespace(losses=[8.0, 6.0, 5.0][:step], step=step))
live.epoch({"step": 3, "loss": 5.0, "valid_loss": 4.5, "valid_bleu": 7.0})
"""
WORDS = (
    "Training curves, step 3 of 3: the training loss went from 8.00 to 5.00, "
    "the validation loss is 4.50, BLEU is 7.0."
)


FAILING = TRAINING + "1 / 0"
LIVE = "import os\ndel os.environ['COURSE_QUIET']"


@pytest.fixture(scope="module")
def notebooks():
    """The outputs of each cell of two notebooks, which start out quiet."""
    outputs = []
    for sources in ((TRAINING, FAILING, LIVE, TRAINING, "None"), (TRAINING,)):
        cells = [nbformat.v4.new_code_cell(source) for source in sources]
        notebook = nbformat.v4.new_notebook(cells=cells)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("COURSE_QUIET", "1")
            NotebookClient(notebook, timeout=120, allow_errors=FAILING in sources).execute()
        outputs.append([cell.outputs for cell in notebook.cells])
    return outputs


@pytest.fixture
def screen(monkeypatch):
    """A notebook that records the alt texts it is sent; time stands still until a test moves it."""
    shown, now = [], SimpleNamespace(time=100.0, cost=0.0)

    def take(data, **_):
        now.time += now.cost
        shown.append(data["text/plain"])
        return SimpleNamespace(update=take)

    events = SimpleNamespace(register=lambda name, call: setattr(now, name, call))
    shell = SimpleNamespace(kernel=object(), events=events)
    for name, value in (("initialized", lambda: True), ("instance", lambda: shell)):
        monkeypatch.setattr(live.InteractiveShell, name, value)
    monkeypatch.setattr(live, "display", take)
    monkeypatch.setattr(live.time, "monotonic", lambda: now.time)
    monkeypatch.delenv("COURSE_QUIET", raising=False)
    return SimpleNamespace(shown=shown, now=now, shell=shell)


def run_at(step, **more):
    return SimpleNamespace(losses=[8.0 / (i + 1) for i in range(step)], step=step, **more)


@pytest.mark.slow
@pytest.mark.xdist_group("live")
def test_a_quiet_notebook_stores_one_picture_that_is_the_same_each_time(notebooks):
    [first], [second] = (cells[0] for cells in notebooks)
    assert first.data["text/plain"] == WORDS
    assert f'<img alt="{WORDS}" src="data:image/webp;base64,' in first.data["text/html"]
    assert first == second


@pytest.mark.slow
@pytest.mark.xdist_group("live")
def test_a_live_notebook_replaces_its_picture_and_ends_with_the_last_step(notebooks):
    nothing, [output], later = notebooks[0][2:]
    assert nothing == []
    assert output.data["text/plain"] == WORDS
    assert later == []


@pytest.mark.slow
@pytest.mark.xdist_group("live")
def test_a_cell_that_fails_keeps_its_curves(notebooks):
    outputs = notebooks[0][1]
    assert {output.output_type for output in outputs} == {"display_data", "error"}


def test_pictures_are_at_least_half_a_second_apart(screen):
    curves = live_curves()
    for step in range(1, 101):
        screen.now.time += 0.01
        curves.step(run_at(step))
    assert PAUSE == 0.5
    assert len(screen.shown) == 2


def test_drawing_takes_a_tenth_of_the_time_at_most(screen):
    curves, screen.now.cost = live_curves(), 0.2
    for step in range(1, 101):
        screen.now.time += 0.1
        curves.step(run_at(step))
    assert SHARE == 10
    assert len(screen.shown) == 5


def test_the_end_of_a_cell_shows_new_steps_and_nothing_twice(screen):
    curves = live_curves()
    curves.step(run_at(1))
    curves.step(run_at(2))
    screen.now.post_run_cell(None)
    screen.now.post_run_cell(None)
    assert [words.split(":")[0] for words in screen.shown] == [
        "Training curves, step 1",
        "Training curves, step 2",
    ]


def test_without_a_kernel_only_the_end_of_a_cell_is_drawn(screen):
    del screen.shell.kernel
    curves = live_curves()
    curves.step(run_at(1))
    assert screen.shown == []
    screen.now.post_run_cell(None)
    assert len(screen.shown) == 1


def test_the_run_knows_its_own_length_and_its_earlier_validations(screen):
    rows = [{"step": 1, "valid_exact": 0.25}]
    live_curves().step(run_at(2, total_steps=2000, epochs=rows))
    assert screen.shown == [
        "Training curves, step 2 of 2,000: the training loss went from 8.00 to 4.00, "
        "the autoregressive exact match is 25.0%."
    ]


def test_validations_without_steps_are_drawn_too(screen):
    live_curves().epoch({"step": 7, "loss": 3.0, "valid_accuracy_teacher_forced": 0.5})
    assert screen.shown == ["Training curves, step 7: the teacher-forced accuracy is 50.0%."]


def test_outside_a_notebook_nothing_is_printed_until_draw_is_called(capsys):
    curves = live_curves(total=4)
    curves.step(run_at(2))
    assert capsys.readouterr().out == ""
    curves.draw()
    words = "Training curves, step 2 of 4: the training loss went from 8.00 to 4.00.\n"
    assert capsys.readouterr().out == words


def test_there_is_nothing_to_draw_before_the_first_step():
    with pytest.raises(ValueError, match="got none: is it too early"):
        live_curves().draw()
