"""A fingerprint of a run's data: does a resumed run see what it was trained on before?"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from course_lib.data import Pair, Subwords, Tokenizer

Fingerprint = dict[str, int | str]  # sizes and SHA-256 hashes, by a name for people


def fingerprint_pairs(split: str, pairs: Iterable[Pair]) -> Fingerprint:
    """Number and contents of a split's pairs.

    They are taken as training sees them, cleaned and cut to size. So it makes no difference where
    the files lie or how they are compressed, but a pair more or fewer does, whether it was edited
    or removed by another rule of cleaning. A million pairs take about a second.
    """
    count, source, target = 0, hashlib.sha256(), hashlib.sha256()
    for pair in pairs:
        count += 1
        source.update(_bytes(pair.source_text))
        target.update(_bytes(pair.target_text))
    return {
        f"number of pairs in {split}": count,
        f"source side of {split}": source.hexdigest(),
        f"target side of {split}": target.hexdigest(),
    }


def fingerprint_tokenizer(side: str, tokenizer: Tokenizer) -> Fingerprint:
    """A tokenizer's tokens, and for subwords also its rules."""
    parts = [tokenizer.to_json()] if isinstance(tokenizer, Subwords) else tokenizer.tokens
    digest = hashlib.sha256(b"".join(map(_bytes, parts)))
    return {f"tokenizer of the {side}": digest.hexdigest()}


def changed_parts(before: dict[str, Any], now: Fingerprint) -> list[str]:
    """What differs, in words, such as ``number of pairs in train (119, was 120)``."""
    names = [name for name in now if now[name] != before.get(name)]
    return [
        f"{name} ({now[name]:,}, was {before[name]:,})"
        if isinstance(now[name], int) and isinstance(before.get(name), int)
        else name
        for name in names
    ]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass") + b"\n"
