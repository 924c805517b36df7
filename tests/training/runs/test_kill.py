"""A run that is killed without a warning, again and again, ends as if nothing had happened."""

import multiprocessing
import os
import random
import time

import pytest
from safetensors.torch import load_file

from course_lib.training import read_checkpoint
from tests.training.toy_course import run, run_with_failure

pytestmark = pytest.mark.slow


def tensors(path):
    return {name: value.tolist() for name, value in load_file(path).items()}


def start(target, *arguments):
    """A process that begins as a copy of a server, which has loaded PyTorch once, with what its
    optimisers import.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.training.toy_course", "torch._dynamo"])
    process = context.Process(target=target, args=arguments)
    process.start()
    return process


@pytest.mark.smoke
@pytest.mark.skipif(os.name != "posix", reason="there is no kill -9")
def test_a_run_killed_at_random_moments_ends_with_the_same_bits(tmp_path):
    def train(*arguments):
        return start(run, str(tmp_path), "train", "toy", *arguments)

    whole = train("--out", "whole")
    last, chance, kills, steps = tmp_path / "cut" / "last.safetensors", random.Random(0), 0, []
    while kills < 6:
        process = train("--out", "cut", *(["--resume"] if last.exists() else []))
        before = last.stat().st_mtime_ns if last.exists() else 0
        while process.is_alive() and not (last.exists() and last.stat().st_mtime_ns > before):
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.1))
        process.kill()
        process.join()
        kills += 1
        steps.append(read_checkpoint(last)[1]["step"])  # always a whole file
    assert steps == sorted(steps) and len(set(steps)) > 2, "the kills came at other moments"
    process = train("--out", "cut", "--resume")
    process.join()
    whole.join()
    assert (process.exitcode, whole.exitcode) == (0, 0)
    assert_same(tmp_path / "cut", tmp_path / "whole")


def assert_same(cut, whole):
    """Two folders hold the same run to the last bit, and no draft."""
    for name in ("best.safetensors", "last.safetensors"):
        assert tensors(cut / name) == tensors(whole / name)
    infos = [read_checkpoint(folder / "last.safetensors")[1] for folder in (cut, whole)]
    assert infos[0]["losses"] == infos[1]["losses"]
    assert not list(cut.glob(".saving-*"))


SHORT = ["train", "toy", "--max-steps", "2", "--set", "valid_every=1", "--set", "test_size=0"]


@pytest.mark.skipif(os.name != "posix", reason="there is no kill -9")
def test_whatever_write_fails_or_is_the_last_the_run_goes_on_to_the_same_bits(tmp_path):
    tmp_path = tmp_path.resolve()
    whole = tmp_path / "whole"
    whole.mkdir()
    start(run_with_failure, str(whole), 0, False, *SHORT, "--out", "run").join()
    writes = len((tmp_path / "whole-writes").read_text())
    assert writes > 80, "from the first save, before a step, to the last"
    numbers = range(1, writes + 1, 11)  # no divisor: a file takes seven to nine, of every kind
    failing = []
    for number in numbers:
        folder = tmp_path / f"{number}"
        folder.mkdir()
        dies = number % 2 == 1
        process = start(run_with_failure, str(folder), number, dies, *SHORT, "--out", "run")
        failing.append((folder, process, 9 if dies else 1))
    resumed = []
    for folder, process, status in failing:
        process.join()
        assert process.exitcode == status, folder
        again = ["--resume"] if (folder / "run" / "last.safetensors").exists() else []
        resumed.append((folder, start(run, str(folder), *SHORT, "--out", "run", *again)))
    for folder, process in resumed:
        process.join()
        assert process.exitcode == 0, folder
        assert_same(folder / "run", whole / "run")
