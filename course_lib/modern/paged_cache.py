"""A cache in pages, so that many texts of unknown length share one memory (Kwon et al. 2023).

A text that reserves room for its longest possible continuation leaves most of it empty. Here each
text holds a list of pages, the page table, and takes another page only when its last one is full.
"""

import torch
from jaxtyping import Float
from torch import Tensor


class PagedCache:
    """Keys (or values) of many texts in one pool of pages.

    Args:
        n_pages, page_size: the pool holds n_pages · page_size tokens.
        width: numbers a token, in all heads.
        dtype, device: of the pool; by default PyTorch's.
    """

    def __init__(
        self,
        n_pages: int,
        page_size: int,
        width: int,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        for name, size in (("n_pages", n_pages), ("page_size", page_size), ("width", width)):
            if size < 1:
                raise ValueError(f"{name} must be at least 1, got {size}")
        self.page_size = page_size
        self.pool = torch.zeros(n_pages, page_size, width, dtype=dtype, device=device)
        self.free = list(range(n_pages))
        self.pages: dict[str, list[int]] = {}  # the page table: which pages a text has, in order
        self.lengths: dict[str, int] = {}

    def append(self, text: str, numbers: Float[Tensor, " width"]) -> None:
        """Store the numbers of the next token of a text, which may be a new one.

        Raises:
            MemoryError: a new page is needed and none is free.
        """
        length, pages = self.lengths.get(text, 0), self.pages.get(text, [])
        if length == len(pages) * self.page_size:
            if not self.free:
                raise MemoryError(
                    f"all {len(self.pool)} pages are taken, and the last page of {text!r} is full: "
                    "release a text first"
                )
            self.pages[text] = pages = [*pages, self.free.pop()]
        self.pool[pages[-1], length % self.page_size] = numbers
        self.lengths[text] = length + 1

    def read(self, text: str) -> Float[Tensor, "length width"]:
        """The numbers of all tokens of a text, in order, wherever its pages lie.

        Raises:
            KeyError: there is no such text.
        """
        return self.pool[self.pages[text]].flatten(0, 1)[: self.lengths[text]]

    def release(self, text: str) -> None:
        """Give the pages of a text back.

        Raises:
            KeyError: there is no such text.
        """
        self.free.extend(self.pages.pop(text))
        del self.lengths[text]

    @property
    def wasted(self) -> int:
        """Places for tokens in pages that are taken but not yet filled."""
        taken = sum(map(len, self.pages.values())) * self.page_size
        return taken - sum(self.lengths.values())
