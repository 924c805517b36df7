"""What a decoder-only model keeps of earlier tokens; see ``course_lib.model.cache``."""

from collections.abc import Sequence

from torch import Tensor

from course_lib.model import AttentionCache
from course_lib.modern.config import DecoderConfig


class WindowCache(AttentionCache):
    """The keys and values of one layer; with a window, those of the last ``window`` tokens."""

    def __init__(self, window: int | None = None) -> None:
        super().__init__(grows=True)
        self.window = window

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append those of new tokens; return all that the new tokens may attend to."""
        keys, values = super().extend(keys, values)
        if self.window is not None and keys.size(2) > self.window:
            # Copies: a slice would keep the whole tensor in memory.
            self.keys = keys[:, :, -self.window :].clone()
            self.values = values[:, :, -self.window :].clone()
        return keys, values


class DecoderCache:
    """One cache for each layer of a decoder-only model, and the number of tokens so far.

    Args:
        config: of the model.
        layers, length: caches that exist already, and the tokens that they hold; by default, new
            ones.
    """

    def __init__(
        self,
        config: DecoderConfig,
        layers: Sequence[AttentionCache] | None = None,
        *,
        length: int = 0,
    ) -> None:
        if layers is None:
            layers = [WindowCache(window) for window in config.layer_windows]
        self.layers = layers
        self.length = length

    @property
    def n_bytes(self) -> int:
        """The memory of all keys and values, in bytes; of latents, if the model has them."""
        kept = (tensor for layer in self.layers for tensor in (layer.keys, layer.values))
        return sum(t.numel() * t.element_size() for t in kept if t is not None)
