"""The `course` command as a process of its own, with the toys among its recipes.

It saves after every step. SIGNAL="NAME TARGET RANK STEP" makes the process of that rank send a
signal to itself or to its parent in the middle of that step. Each process leaves its id in a file.
"""

import errno
import itertools
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from course_lib.cli import main
from course_lib.data import CORPORA
from course_lib.training import RECIPES, trainer
from course_lib.training.runs import run_folder
from tests.training.conftest import TOY, TOY_RECIPE


def set_up() -> None:
    """Register the toys, save often, and arm the signal."""
    sys.modules["torch.utils.tensorboard"] = None  # takes a second to load
    os.environ["COURSE_QUIET"] = "1"
    CORPORA["toy"] = TOY
    RECIPES["toy"] = TOY_RECIPE
    model = {**TOY_RECIPE.model, "residual_dropout": 0.0}
    RECIPES["still"] = replace(TOY_RECIPE, name="still", model=model)
    run_folder.SAVE_EVERY = 0.0
    name, target, rank, step = os.environ.get("SIGNAL", "SIGKILL self -1 -1").split()
    if rank == os.environ.get("RANK", "0"):
        original, calls = trainer.Trainer.step, []

        def interrupted_step(*args, **kwargs):
            calls.append(1)
            if len(calls) == int(step):
                pid = os.getpid() if target == "self" else os.getppid()
                os.kill(pid, signal.Signals[name])
            return original(*args, **kwargs)

        trainer.Trainer.step = interrupted_step


def run(folder: str, *arguments: str) -> None:
    """The command within a folder."""
    os.chdir(folder)
    set_up()
    sys.exit(main(arguments))


def run_with_failure(folder: str, number: int, dies: bool, *arguments: str) -> None:
    """The command, whose write of this number fails, or ends the process; 0 counts them only.

    A write is what makes, fills, renames, removes or syncs something within the folder. Their
    count is left in a file beside it.
    """
    numbers, inside = itertools.count(1), f"{folder}{os.sep}"

    def write(*_: object) -> None:
        this = next(numbers)
        if this == number and dies:
            os._exit(9)
        if this == number:
            raise OSError(errno.EIO, "injected")
        counts.write(".")
        counts.flush()

    def look(event: str, arguments: tuple[object, ...]) -> None:
        opened_to_read = event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if event in WRITES and not opened_to_read and str(arguments[0]).startswith(inside):
            write()

    def sync(descriptor: int) -> None:
        write()
        original_sync(descriptor)

    original_sync, os.fsync = os.fsync, sync
    with open(f"{folder}-writes", "w") as counts:
        os.chdir(folder)
        sys.addaudithook(look)
        run(folder, *arguments)


WRITES = {"open", "os.mkdir", "os.chmod", "os.rename", "os.rmdir"}

if __name__ == "__main__":
    Path(f"pid-{os.environ.get('RANK', '0')}").write_text(str(os.getpid()))
    set_up()
    sys.exit(main())
