"""A run that is killed without a warning, again and again, ends as if nothing had happened."""

import multiprocessing
import os
import random
import time

import pytest
from safetensors.torch import load_file

from course_lib.training import read_checkpoint
from tests.training.toy_course import run

pytestmark = pytest.mark.slow


def tensors(path):
    return {name: value.tolist() for name, value in load_file(path).items()}


@pytest.mark.skipif(os.name != "posix", reason="there is no kill -9")
def test_a_run_killed_at_random_moments_ends_with_the_same_bits(tmp_path):
    # The server loads PyTorch once, with what its optimisers import; each process of the command
    # begins as a copy of it.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.training.toy_course", "torch._dynamo"])

    def start(*arguments):
        process = context.Process(target=run, args=(str(tmp_path), "train", "toy", *arguments))
        process.start()
        return process

    whole = start("--out", "whole")
    last, chance, kills, steps = tmp_path / "cut" / "last.safetensors", random.Random(0), 0, []
    while kills < 6:
        process = start("--out", "cut", *(["--resume"] if last.exists() else []))
        before = last.stat().st_mtime_ns if last.exists() else 0
        while process.is_alive() and not (last.exists() and last.stat().st_mtime_ns > before):
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.1))
        process.kill()
        process.join()
        kills += 1
        steps.append(read_checkpoint(last)[1]["step"])  # always a whole file
    assert steps == sorted(steps) and len(set(steps)) > 2, "the kills came at other moments"
    process = start("--out", "cut", "--resume")
    process.join()
    whole.join()
    assert (process.exitcode, whole.exitcode) == (0, 0)
    for name in ("best.safetensors", "last.safetensors"):
        assert tensors(tmp_path / "cut" / name) == tensors(tmp_path / "whole" / name)
    infos = [read_checkpoint(tmp_path / out / "last.safetensors")[1] for out in ("cut", "whole")]
    assert infos[0]["losses"] == infos[1]["losses"]
    assert not list((tmp_path / "cut").glob(".saving-*"))
