import os
import re
import sys
from types import SimpleNamespace

import pytest

from course_lib.cli import main
from course_lib.training import read_checkpoint
from course_lib.training.runs import tensorboard
from course_lib.training.runs.tensorboard import tensorboard_logger

pytestmark = pytest.mark.slow


def test_tensorboard_sees_the_losses_of_the_run(at_home):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    assert main(["train", "toy", "--out", "run", "--max-steps", "21"]) == 0
    events = accumulator.EventAccumulator(str(at_home / "run" / "events"))
    events.Reload()
    _, info, _ = read_checkpoint(at_home / "run" / "last.safetensors")
    found = {event.step: event.value for event in events.Scalars("train/loss")}
    assert found == pytest.approx({10: info["losses"][9], 20: info["losses"][19]})
    assert all(event.value > 0 for event in events.Scalars("train/tokens_per_second"))
    for name in ("loss", "accuracy_teacher_forced", "exact", "bleu"):
        found = {event.step: event.value for event in events.Scalars(f"valid/{name}")}
        assert found == pytest.approx({row["step"]: row[f"valid_{name}"] for row in info["epochs"]})


def test_without_tensorboard_the_run_is_the_same(at_home, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    assert main(["train", "toy", "--out", "run", "--max-steps", "11"]) == 0
    assert re.search(r"^step \d+  loss", capsys.readouterr().out, re.MULTILINE)
    assert "events" not in os.listdir("run")


def test_only_the_first_of_several_processes_writes_events(tmp_path, monkeypatch):
    monkeypatch.setattr(tensorboard, "rank", lambda: 1)
    with tensorboard_logger(tmp_path) as logger:
        assert logger.writer is None
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_hold_events_stops_nothing(tmp_path):
    (tmp_path / "events").write_text("in the way")
    with tensorboard_logger(tmp_path) as logger:
        assert logger.writer is None


def broken(*args, **kwargs):
    raise TypeError("Descriptors cannot be created directly")


def test_a_tensorboard_that_does_not_fit_other_packages_stops_nothing(
    tmp_path, monkeypatch, capsys
):
    module = SimpleNamespace(SummaryWriter=broken)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    with tensorboard_logger(tmp_path) as logger:
        assert logger.writer is None
    assert "TensorBoard cannot be used (TypeError: Descriptors" in capsys.readouterr().out


def test_a_log_that_fails_later_ends_and_the_run_goes_on(at_home, monkeypatch, capsys):
    writer = SimpleNamespace(add_scalar=broken, close=broken)
    monkeypatch.setattr(tensorboard, "_writer", lambda folder: writer)
    assert main(["train", "toy", "--out", "run", "--max-steps", "21"]) == 0
    assert capsys.readouterr().out.count("TensorBoard's log ends here (TypeError: Descr") == 1
