"""Where the caches of several texts lie: contiguous, or in pages of one pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from course_lib.modern import PagedCache
from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Film, Frame, Panel
from course_lib.viz.drawings.marks import element, label

CELL = 18.0  # the side of a token's square
TOP, ROW = 46.0, 50.0  # the top of the first row of squares, and to the next
PAGE_GAP = 12.0
LINE = 17.0


class Step(NamedTuple):
    """A text reads or writes ``tokens`` more; 0: it ends."""

    text: str
    tokens: int


class Contiguous:
    """Memory in which each text reserves room for the longest, and waits where there is none."""

    def __init__(self, size: int, longest: int) -> None:
        self.rooms: list[str | None] = [None] * (size // longest)
        self.longest = longest
        self.lengths: dict[str, int] = {}
        self.waiting: list[str] = []

    def go_on(self, step: Step) -> None:
        """Take a step; a text that ends lets the first that waits begin."""
        if not step.tokens:
            self.lengths.pop(step.text)
            if step.text in self.waiting:
                self.waiting.remove(step.text)
            else:
                self.rooms[self.rooms.index(step.text)] = None
        else:
            self.lengths[step.text] = self.lengths.get(step.text, 0) + step.tokens
            if step.text not in (*self.rooms, *self.waiting):
                self.waiting.append(step.text)
        while self.waiting and None in self.rooms:
            self.rooms[self.rooms.index(None)] = self.waiting.pop(0)

    @property
    def empty(self) -> int:
        """Reserved, and not filled."""
        return sum(self.longest - self.lengths[text] for text in self.rooms if text is not None)


def draw_cache_pages(
    steps: Sequence[tuple[str, int]],
    *,
    n_pages: int,
    page_size: int,
    longest: int,
    caption: str = "",
) -> Film:
    """Draw texts that come, grow and end: on the left contiguous, on the right in pages.

    Both have the same memory. A square is a token, with the letter of its text; those of the last
    step are in the accent, and what is taken but empty is hatched. The pages are those of a real
    ``PagedCache``.

    Args:
        steps: a text's letter, and how many tokens it reads or writes; 0: it ends.
        n_pages, page_size: the memory.
        longest: how many tokens a text may have, for which a reservation has room.
        caption: one sentence that a person would say.

    Raises:
        MemoryError: the pages are full.
        ValueError: a page or a reservation has no room in a panel, or a text becomes longer than
            ``longest``.
    """
    if longest * CELL > WIDTH or page_size * CELL + PAGE_GAP > WIDTH:
        most = int(WIDTH / CELL)
        raise ValueError(
            f"expected texts of at most {most} tokens and shorter pages, got {longest} and "
            f"{page_size}: there is no room in a panel"
        )
    contiguous = Contiguous(n_pages * page_size, longest)
    cache = PagedCache(n_pages, page_size, 1)
    frames: list[Frame] = []
    most = _most_texts(steps)
    for step in (Step(*each) for each in steps):
        contiguous.go_on(step)
        if max(contiguous.lengths.values(), default=0) > longest:
            raise ValueError(f"expected texts of at most {longest} tokens, got {step}")
        if step.tokens:
            for _ in range(step.tokens):
                cache.append(step.text, torch.zeros(1))
        else:
            cache.release(step.text)
        says = f"{step.text} {'goes on' if step.tokens else 'ends'}. "
        if cache.lengths.get(step.text) == step.tokens and step.tokens:
            says = f"{step.text} begins, {step.tokens} tokens. "
        elif step.tokens:
            says = f"{step.text} goes on, {step.tokens} tokens more. "
        says += f"Taken and empty: {contiguous.empty} contiguous, {cache.wasted} in pages."
        if contiguous.waiting:
            says += f" Without pages, {' and '.join(contiguous.waiting)} must wait."
        panels = [_contiguous(contiguous, step), _pages(cache, step, lines=most)]
        frames.append(Frame(panels, says))
    return Film(frames, start=-1, seconds=2.0, caption=caption)


def _most_texts(steps: Sequence[tuple[str, int]]) -> int:
    """How many texts there are at one time, at most."""
    texts: set[str] = set()
    most = 0
    for text, tokens in steps:
        texts = texts | {text} if tokens else texts - {text}
        most = max(most, len(texts))
    return most


def _per_row(page_size: int) -> int:
    return max(1, int((WIDTH + PAGE_GAP) // (page_size * CELL + PAGE_GAP)))


def _contiguous(contiguous: Contiguous, step: Step) -> Panel:
    graphics, told = [], []
    for i, text in enumerate(contiguous.rooms):
        y = TOP + i * ROW
        length = 0 if text is None else contiguous.lengths[text]
        new = min(step.tokens, length) if text == step.text else 0
        graphics += _cells(0, y, contiguous.longest, text or "", filled=length, new=new)
        told.append(f"{text}: {length} of {contiguous.longest}" if text else "one is free")
        words = f"reserved for {text}" if text else "free"
        graphics.append(label((0, y + CELL + 11), words, cls="aside", anchor="start"))
    y = TOP + len(contiguous.rooms) * ROW + LINE / 2
    waiting = " and ".join(contiguous.waiting)
    words = f"{waiting} must wait" if waiting else "nobody waits"
    graphics.append(label((0, y), words, cls="bold" if waiting else None, anchor="start"))
    words = f"{contiguous.empty} taken and empty"
    graphics.append(label((WIDTH, y), words, cls="bold", anchor="end"))
    told.append(words)
    return Panel(
        title="Room for the longest text",
        note=f"each text reserves {contiguous.longest} tokens",
        description=f"{'; '.join(told)}; {f'{waiting} must wait' if waiting else 'nobody waits'}.",
        body="".join(graphics),
        height=y + LINE,
    )


def _pages(cache: PagedCache, step: Step, *, lines: int) -> Panel:
    size, per_row = cache.page_size, _per_row(cache.page_size)
    owners = {page: text for text, pages in cache.pages.items() for page in pages}
    graphics = []
    for page in range(len(cache.pool)):
        x = (page % per_row) * (size * CELL + PAGE_GAP)
        y = TOP + (page // per_row) * ROW
        text = owners.get(page, "")
        first = cache.pages[text].index(page) * size if text else 0  # tokens before this page
        length = cache.lengths[text] if text else 0
        filled = min(max(length - first, 0), size)
        new = max(0, min(filled, first + filled - (length - step.tokens)))
        graphics += _cells(x, y, size, text, filled=filled, new=new if text == step.text else 0)
        graphics.append(label((x, y + CELL + 11), f"page {page}", cls="aside", anchor="start"))
    y, told = TOP + -(-len(cache.pool) // per_row) * ROW + LINE / 2, []
    words = f"{cache.wasted} taken and empty"
    graphics.append(label((WIDTH, y), words, cls="bold", anchor="end"))
    for i, (text, pages) in enumerate(cache.pages.items()):
        row = f"{text}: pages {', '.join(map(str, pages))}"
        graphics.append(label((0, y + i * LINE), row, anchor="start"))
        told.append(f"{row}, {cache.lengths[text]} tokens")
    return Panel(
        title="Pages of one pool",
        note=f"each text takes {size} tokens at a time",
        description=f"{'; '.join([*told, words])}.",
        body="".join(graphics),
        height=y + lines * LINE,
    )


def _cells(x: float, y: float, count: int, text: str, *, filled: int, new: int) -> list[str]:
    """Squares of one reservation or page; of those that are filled, the last ``new`` are lit.

    Without a text, all are free.
    """
    graphics = []
    for i in range(count):
        is_new = filled - new <= i < filled
        fill = "accent" if is_new else "fill" if i < filled else "hidden" if text else "none"
        graphics.append(
            element(
                "rect",
                x=x + i * CELL,
                y=y,
                width=CELL,
                height=CELL,
                fill=ink(fill),
                stroke=ink("line" if text else "hair"),
            )
        )
        if i < filled:
            at = (x + (i + 0.5) * CELL, y + CELL / 2)
            colour = "page" if is_new else None
            graphics.append(label(at, text, cls="aside bold", colour=colour))
    return graphics
