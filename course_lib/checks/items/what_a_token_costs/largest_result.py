"""Notice in a learner's code a tensor that a task asks not to make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor
from torch.utils import _pytree as tree
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.checks.engine.adapters import WrongResult


class NoTensorOf(TorchDispatchMode):
    """While it is entered, an operation whose result has so many numbers raises an error.

    Views and copies count like products: whoever has such a tensor has made it.

    Args:
        is_it: whether a result is what is not to be made.
        says: what to tell.
    """

    def __init__(self, is_it: Callable[[Tensor], bool], says: str) -> None:
        super().__init__()
        self.is_it, self.says = is_it, says

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run the operation and look at what it returns.

        Raises:
            WrongResult: it is such a tensor.
        """
        value = func(*args, **(kwargs or {}))
        for each in tree.tree_leaves(value):
            if isinstance(each, Tensor) and each.is_floating_point() and self.is_it(each):
                raise WrongResult(self.says)
        return value
