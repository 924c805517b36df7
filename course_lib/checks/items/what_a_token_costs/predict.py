"""18.predict: What is in the cache?"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from course_lib.checks.items.own_number import (
    Choice,
    Number,
    NumberedRun,
    Outcome,
    own_number_item,
)
from course_lib.modern import DecoderConfig, cache_bytes

LENGTHS = (1, 100, 300, 1000, 2000, 4000, 8000)
PAGE = 256  # tokens
SHOWN = (
    "d_model",
    "n_layers",
    "n_heads",
    "n_kv_heads",
    "d_head",
    "windows",
    "max_len",
)


@dataclass(frozen=True)
class Cache:
    """A model's cache, measured while a text grows."""

    config: DecoderConfig
    kind: str  # of ``KINDS``

    @property
    def right(self) -> int:
        """The bytes after the last of the lengths, by the configuration."""
        return cache_bytes(self.config, LENGTHS[-1])

    @property
    def measured(self) -> list[int]:
        """The bytes after each of the lengths."""
        return [MEASURE[self.kind](self.config, length) for length in LENGTHS]


def _in_pages(config: DecoderConfig, length: int) -> int:
    """Windows are whole pages, so that a layer with one has no more than its window holds."""
    return cache_bytes(config, -(-length // PAGE) * PAGE)


def _with_queries(config: DecoderConfig, length: int) -> int:
    keys = cache_bytes(config, length)
    return keys + keys * config.n_heads // (2 * config.resolved_n_kv_heads)


MEASURE: dict[str, Callable[[DecoderConfig, int], int]] = {
    "right": cache_bytes,
    "repeated": lambda c, length: cache_bytes(replace(c, n_kv_heads=None), length),
    "queries": _with_queries,
    "four_bytes": lambda c, length: cache_bytes(c, length, bytes_per_number=4),
    "all_tokens": lambda c, length: cache_bytes(replace(c, windows=(None,)), length),
    "reserved": lambda c, length: cache_bytes(c, c.max_len),
    "pages": _in_pages,
}


def _make(drawn: random.Random) -> Cache:
    kind = drawn.choice([*KINDS])
    patterns = [((512,) * n + (None,)) for n in (1, 3, 5)]
    if kind != "all_tokens":
        patterns += [(None,)] * 2
    kv_heads, d_head = drawn.choice([2, 4, 8]), drawn.choice([64, 96, 128])
    heads = kv_heads * drawn.choice([3, 4, 5])
    config = DecoderConfig(
        vocab=32_000,
        d_model=drawn.choice([576, 768, 1024, 1280, 1536]),
        d_ff=4096,
        n_heads=heads,
        n_kv_heads=kv_heads,
        d_head=d_head,
        n_layers=drawn.choice([12, 18, 24, 30, 36]),
        windows=drawn.choice(patterns),
        max_len=drawn.choice([16_384, 32_768]),
    )
    return Cache(config, kind)


def _show(run: Cache) -> Outcome:
    lines = [f"{name:12}{getattr(run.config, name)}" for name in SHOWN]
    return Outcome(
        text="\n".join(["the configuration", *lines]),
        values={"config": run.config, "bytes": dict(zip(LENGTHS, run.measured, strict=True))},
    )


KINDS = {
    "right": "the cache holds what the configuration says",
    "repeated": "each head of queries has copies of its keys and values in the cache",
    "queries": "the queries of all tokens are kept as well",
    "four_bytes": "each number takes four bytes, and not two",
    "all_tokens": "layers with a window keep all tokens",
    "reserved": "room for `max_len` tokens is taken when the text begins",
    "pages": "room is taken in pages of 256 tokens, of which the last is partly empty",
}
SAYS = {
    "right": "Nothing is kept that no later token reads",
    "repeated": "Copies are made before the keys are stored, and grouping has saved nothing: it "
    "works only if they are made when the keys are read",
    "queries": "A query is used once, when its token is new, so nobody will read what is kept "
    "of it",
    "four_bytes": "In float32 the cache is twice as large at every length, and keys hardly gain "
    "from the digits",
    "all_tokens": "Until the windows are full nothing shows, and then the cache goes on growing "
    "as if there were none",
    "reserved": "A text that ends early has taken all that room, which another one could have used",
    "pages": "A text wastes less than a page in each layer, however long it gets: what is paid for "
    "sharing one memory without reserving any",
}
run = NumberedRun(
    id="18.predict",
    unit="million bytes",
    make=_make,
    show=_show,
    questions={
        "right": Number(
            what="the bytes that the configuration asks for after 8,000 tokens",
            right=lambda run: run.right,
            look="Take two bytes a number and one text. Keys and values count, with the heads "
            "that they have, of the width d_head; a layer keeps 8,000 tokens, or as many as its "
            "window holds, and windows are repeated over the layers.",
        ),
        "kind": Choice(
            options=KINDS,
            right=lambda run: run.kind,
            look={
                "right": "Then all lengths would have exactly the bytes of the formula.",
                "repeated": "Then the bytes would be n_heads / n_kv_heads times those of the "
                "formula, at each length.",
                "queries": "Then to two heads of keys and values would come as many of queries as "
                "share them, so the bytes would be 1 + n_heads / (2 · n_kv_heads) times those of "
                "the formula, at each length.",
                "four_bytes": "Then the bytes would be twice those of the formula, at each length.",
                "all_tokens": "Then the bytes would be those of the formula up to 512 tokens, and "
                "more beyond.",
                "reserved": "Then the bytes would be the same at each length, also after one "
                "token.",
                "pages": "Then one token would have the bytes of 256, and 300 those of 512.",
            },
        ),
    },
    says=lambda run: (
        f"After 8,000 tokens the configuration asks for {run.right:,} bytes, and the cache has "
        f"{run.measured[-1] / run.right:.2f} times as many; after one token, "
        f"{run.measured[0] / cache_bytes(run.config, 1):.2f} times. {SAYS[run.kind]}."
    ),
    came=lambda run: run.measured[-1] / 1e6,
    easy=lambda run: "the cache holds what it should" if run.kind == "right" else "",
)
item = own_number_item(
    run,
    hints=(
        "Compare measured bytes with those of the formula at each length, and not only at the "
        "last. Is their quotient the same everywhere?",
        "Three kinds of errors have a quotient that is the same at all lengths: then it is a "
        "matter of heads or of bytes. Where it changes, look at which length: at the first "
        "tokens, or behind the windows.",
        'for length, measured in run["bytes"].items(): print(length, measured / …), with the '
        "bytes of the formula in place of the dots: your own answer to the first task of this "
        "page counts them. Which of n_heads / n_kv_heads and 1 + n_heads / (2 · n_kv_heads) do "
        "you find?",
    ),
)
