"""Several processes train one model: the same steps as one, and an end without a mess."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch import distributed as dist

from course_lib.cli import main
from course_lib.errors import CourseError
from course_lib.training import distributed, load_translator, read_checkpoint

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.name != "posix" or not dist.is_available(), reason="needs gloo and POSIX signals"
    ),
]
TOY_COURSE = Path(__file__).parent / "toy_course.py"
STEPS = ["--max-steps", "36", "--precision", "fp32"]


def losses(folder):
    return read_checkpoint(folder / "last.safetensors")[1]["losses"]


def weights(folder):
    model = load_translator(folder / "best.safetensors").model
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def partner(at_home, monkeypatch):
    """A second process that joins this one in the command, and what it says."""

    @contextmanager
    def join(*arguments, **environment):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        environment_of_all = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2"}
        other = subprocess.Popen(
            [sys.executable, TOY_COURSE, *arguments],
            env=os.environ | environment_of_all | {"RANK": "1", "LOCAL_RANK": "1"} | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with monkeypatch.context() as patch:
            for name, value in (environment_of_all | {"RANK": "0", "LOCAL_RANK": "0"}).items():
                patch.setenv(name, value)
            try:
                yield other
            finally:
                other.kill()
                other.wait()

    return join


@pytest.fixture
def alone(at_home):
    """The folder of the same run in one process."""
    assert main(["train", "still", "--out", "alone", *STEPS]) == 0
    return at_home / "alone"


def test_two_processes_take_the_same_steps_as_one_and_only_the_first_one_prints(
    alone, at_home, partner, capsys
):
    capsys.readouterr()
    command = ["train", "still", "--out", "two", *STEPS]
    with partner(*command) as other:
        assert main(command) == 0
        out, err = other.communicate(timeout=30)
        assert (other.returncode, out) == (0, ""), err
    assert ", seed 0, 2 processes" in capsys.readouterr().out
    assert len(losses(at_home / "two")) == 36
    assert losses(at_home / "two") == pytest.approx(losses(alone), abs=1e-4)
    assert not dist.is_initialized()


def test_when_one_dies_the_other_saves_and_one_process_can_finish(alone, at_home, partner, capsys):
    capsys.readouterr()
    command = ["train", "still", "--out", "cut", *STEPS]
    with partner(*command, SIGNAL="SIGKILL self 1 12") as other:
        assert main(command) == 1
        assert other.wait(10) == -signal.SIGKILL
    err = capsys.readouterr().err
    assert err.startswith("course train: expected 2 processes to take step 12, but process 0 could")
    assert err.endswith("did another one die? Go on with --resume\n") and err.count("\n") == 1
    assert len(losses(at_home / "cut")) == 11
    assert main([*command, "--resume"]) == 0
    assert losses(at_home / "cut") == pytest.approx(losses(alone), abs=1e-4)
    assert torch.allclose(weights(at_home / "cut"), weights(alone), atol=1e-2)


def torchrun(*arguments, **environment):
    """The command in two processes, which has to end soon: exit status, and what it printed."""
    return subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *("--nproc-per-node", "2", TOY_COURSE, *arguments),
        ],
        env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("dying", ["0", "1"])
def test_torchrun_ends_soon_when_one_process_dies_and_leaves_a_run_to_resume(at_home, dying):
    command = ["train", "still", "--out", "cut", *STEPS]
    done = torchrun(*command, SIGNAL=f"SIGKILL self {dying} 12")
    assert done.returncode != 0
    errors = [line for line in done.stderr.splitlines() if line.startswith("course train:")]
    assert len(errors) == 1 and "did another one die? Go on with --resume" in errors[0], done.stderr
    assert not any(is_alive(int(Path(f"pid-{rank}").read_text())) for rank in (0, 1))
    assert len(losses(at_home / "cut")) == 11
    assert main([*command, "--resume"]) == 0
    assert len(losses(at_home / "cut")) == 36


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_to_torchrun_stops_all_after_a_whole_step(at_home, name):
    command = ["train", "still", "--out", "cut", *STEPS]
    done = torchrun(*command, SIGNAL=f"{name} parent 0 12")
    assert done.stdout.count("Stopped after step") == 1, done.stderr
    assert "course train:" not in done.stderr
    assert not any(is_alive(int(Path(f"pid-{rank}").read_text())) for rank in (0, 1))
    _, info, _ = read_checkpoint(at_home / "cut" / "last.safetensors")
    assert 12 <= info["step"] < 36 and not info["finished"]
    assert len(info["losses"]) == info["step"]


def test_a_single_process_has_nobody_to_ask(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with distributed.process_group("cpu") as device:
        assert device == "cpu"
        assert (distributed.rank(), distributed.world_size()) == (0, 1)
        value = torch.ones(2)
        assert distributed.all_reduce_sum(value) is value
        assert distributed.all_reduce_clock_and_stop(3.0, True) == (3.0, True)
        assert distributed.broadcast_from_first_rank("x") == "x"


def test_each_process_takes_the_gpu_of_its_number(monkeypatch):
    calls = []
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: calls.append(device))
    monkeypatch.setattr(dist, "init_process_group", lambda backend, timeout: calls.append(backend))
    monkeypatch.setattr(dist, "destroy_process_group", lambda: calls.append("destroyed"))
    monkeypatch.setattr(dist, "get_backend", lambda: "nccl")
    with distributed.process_group("cuda") as device:
        assert device == "cuda:1"
        assert distributed._exchange_device() == torch.device("cuda")
    assert calls == ["cuda:1", "nccl", "destroyed"]


@pytest.mark.parametrize("world", ["abc", "", "-1", "9" * 5000])
def test_a_number_of_processes_that_is_none_is_refused(monkeypatch, world):
    monkeypatch.setenv("WORLD_SIZE", world)
    with (
        pytest.raises(CourseError, match=r"number in the environment variable WORLD_SIZE, got '"),
        distributed.process_group("cpu"),
    ):
        pytest.fail("joined")


def test_only_the_first_process_is_heard(monkeypatch, capsys):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(dist, "init_process_group", lambda backend, timeout: None)
    monkeypatch.setattr(dist, "destroy_process_group", lambda: None)
    for rank in (0, 1):
        monkeypatch.setattr(distributed, "rank", lambda rank=rank: rank)
        with distributed.process_group("cpu"):
            print(f"I am {rank}.")
    assert capsys.readouterr().out == "I am 0.\n"
