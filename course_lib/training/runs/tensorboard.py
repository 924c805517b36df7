"""A run's metrics for TensorBoard, where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.terminal import say
from course_lib.training.distributed import rank
from course_lib.training.runs.final_report import epoch_line
from course_lib.training.runs.run import Epoch, Run
from course_lib.training.runs.run_files import EVENTS

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

EVERY = 10  # steps between two points of the curves of single steps


class TensorBoardLogger:
    """Writes a run's metrics to ``folder``, which is made with the first of them.

    Without TensorBoard, or where nothing can be written, it writes nothing: training goes on.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writer: SummaryWriter | None = None
        self._tried = False

    @property
    def writer(self) -> SummaryWriter | None:
        """Made when it is first needed: until then, the run's folder may turn out to be taken."""
        if not self._tried:
            self._tried = True
            self._writer = _writer(self.folder)
        return self._writer

    def log_step(self, run: Run) -> None:
        """Note the loss, the learning rate and the throughput of a step."""
        if run.step % EVERY == 0:
            self._add("train/loss", run.losses[-1], run.step)
            self._add("train/learning_rate", run.learning_rates[-1], run.step)
            self._add("train/tokens_per_second", run.tokens / max(run.seconds, 1e-9), run.step)

    def log_epoch(self, row: Epoch) -> None:
        """Print the numbers of a validation, and note them."""
        say(epoch_line(row))
        for name, value in row.items():
            if name.startswith("valid_"):
                self._add(f"valid/{name[6:]}", value, int(row["step"]))

    def close(self) -> None:
        """Write what is left."""
        if writer := self._writer:
            with self._giving_up_on_error():
                writer.close()

    def _add(self, name: str, value: float | None, step: int) -> None:
        if writer := self.writer:
            with self._giving_up_on_error():
                writer.add_scalar(name, value, step)

    @contextmanager
    def _giving_up_on_error(self) -> Iterator[None]:
        """A full disk, or whatever else TensorBoard's own thread met, ends its log alone."""
        try:
            yield
        except Exception as error:
            self._writer = None
            say(f"TensorBoard's log ends here ({type(error).__name__}: {error})")


@contextmanager
def tensorboard_logger(folder: Path) -> Iterator[TensorBoardLogger]:
    """A logger to ``folder``/events, to be seen with ``tensorboard --logdir``."""
    logger = TensorBoardLogger(folder / EVENTS)
    try:
        yield logger
    finally:
        logger.close()


def _writer(folder: Path) -> SummaryWriter | None:
    if rank() > 0:
        return None
    try:
        from torch.utils.tensorboard import SummaryWriter

        return SummaryWriter(str(folder))
    except (ImportError, OSError):  # training goes on without it
        return None
    except Exception as error:  # one that does not fit other packages fails in many ways
        say(f"TensorBoard cannot be used ({type(error).__name__}: {error})")
        return None
