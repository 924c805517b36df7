"""A model with tied tables stays one, however it is moved and wherever its weights come from.

PyTorch ties no parameters: ``to_empty`` and ``load_state_dict(assign=True)`` give each name one of
its own. Whoever reads how the Transformer works can skip this file.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from course_lib.model.positions import PositionalEncoding


class TiedModule(nn.Module):
    """A module that keeps as one parameter what is one parameter, under all of its names."""

    def __init__(self) -> None:
        super().__init__()
        self.register_load_state_dict_pre_hook(_share_tied)
        self.register_load_state_dict_post_hook(_compute_positions)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> nn.Module:
        """Move or convert all tensors, as ``to`` and ``to_empty`` do."""
        tied = _tied_names(self)
        super()._apply(fn, recurse)
        for first, *others in tied:
            for name in others:
                owner, _, attribute = name.rpartition(".")
                setattr(self.get_submodule(owner), attribute, self.get_parameter(first))
        return self


def _tied_names(model: nn.Module) -> list[list[str]]:
    """The names of each parameter that has several."""
    names: dict[nn.Parameter, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(parameter, []).append(name)
    return [several for several in names.values() if len(several) > 1]


def _share_tied(
    model: Any, state: dict[str, Tensor], prefix: str, local_metadata: dict[str, Any], *_: object
) -> None:
    """Give a tied parameter one tensor under all its names, whichever of them are stored.

    Raises:
        ValueError: the stored ones differ: the last would win, silently.
    """
    for names in _tied_names(model):
        tables = {name: state[prefix + name] for name in names if prefix + name in state}
        if not tables:
            continue
        name, first = next(iter(tables.items()))
        if different := [other for other, table in tables.items() if not _is_same(table, first)]:
            raise ValueError(
                f"{name} and {different[0]} are one tensor in this model, got two that differ: "
                "were these weights saved by a model with another tying?"
            )
        if local_metadata.get("assign_to_params_buffers") and not isinstance(first, nn.Parameter):
            first = nn.Parameter(first, requires_grad=False)  # PyTorch gives it the model's
        state.update({prefix + name: first for name in names})


def _is_same(table: Tensor, first: Tensor) -> bool:
    """Whether they hold the same numbers, NaN too; on the meta device nothing is known of them."""
    if table is first or table.is_meta or first.is_meta:
        return True
    same = table.shape == first.shape
    return same and table.allclose(first.to(table), rtol=0, atol=0, equal_nan=True)


def _compute_positions(model: Any, _: object) -> None:
    """Compute sinusoidal positions, which no file holds, where assigned weights left none."""
    for module in model.modules():
        table = module.table if isinstance(module, PositionalEncoding) else None
        if table is not None and table.is_meta and not isinstance(table, nn.Parameter):
            module.to_empty(device=model.device)
