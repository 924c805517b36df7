"""A run's numbers for TensorBoard, where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm.auto import tqdm

from course_lib.training.distributed import rank
from course_lib.training.final_report import epoch_line
from course_lib.training.run import Epoch, Run

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

EVERY = 10  # steps between two points of the curve of the training loss


class TensorBoardLogger:
    """Writes what training says about itself; without a ``writer`` it writes nothing."""

    def __init__(self, writer: SummaryWriter | None) -> None:
        self.writer = writer

    def step(self, run: Run) -> None:
        """Note the loss and the pace of a step."""
        if self.writer and run.step % EVERY == 0:
            self.writer.add_scalar("train/loss", run.losses[-1], run.step)
            pace = run.tokens / max(run.seconds, 1e-9)
            self.writer.add_scalar("train/tokens_per_second", pace, run.step)

    def epoch(self, row: Epoch) -> None:
        """Print the numbers of a validation, and note them."""
        tqdm.write(epoch_line(row))
        for name, value in row.items():
            if self.writer and name.startswith("valid_"):
                self.writer.add_scalar(f"valid/{name[6:]}", value, int(row["step"]))


@contextmanager
def tensorboard_logger(folder: Path) -> Iterator[TensorBoardLogger]:
    """A log in ``folder``/events, to be seen with ``tensorboard --logdir``."""
    with _writer(folder / "events") or nullcontext() as writer:
        yield TensorBoardLogger(writer)


def _writer(folder: Path) -> SummaryWriter | None:
    if rank() > 0:
        return None
    try:
        from torch.utils.tensorboard import SummaryWriter

        return SummaryWriter(str(folder))
    except (ImportError, OSError):  # where nothing can be written, training will say so
        return None
