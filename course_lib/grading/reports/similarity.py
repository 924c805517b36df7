"""Which submissions agree in more than chance and a common task explain: a hint for a person.

Right answers to a short task agree by nature, so identical lines say nothing by themselves. Here
a sequence of tokens counts the more, the fewer of the class have written it, as in the inverse
document frequency of text search (K. Spärck Jones, 1972, https://doi.org/10.1108/eb026526). What
two submissions share is compared with all that is rare in the one that has less of it. On copies
with other names, layout and order among independent answers, this put more copies first than the
similarity of token sequences by rapidfuzz or the winnowing of copydetect.

The source is read as text: nothing is executed.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Name, String

LENGTH = 8  # tokens of a sequence: shorter ones are what Python itself makes everybody write
FEWEST = 10  # submissions; in a smaller class nobody can say what is rare
MOST_SOURCE = 50_000  # characters of a cell
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]+")
_COMMON = 0.3  # the share of a class from which on a sequence is not rare
# A pair stands out from so much on: a share well above the usual one, of enough bits. A high share
# always does, or a class in which most have copied would look like one in which nobody has.
_LEAST_SHARE, _TIMES_USUAL, _HIGH_SHARE, _LEAST_SURPRISE = 0.4, 1.5, 0.8, 8.0

Ngram = tuple[str, ...]
Cells = Mapping[str, Sequence[str]]  # the tokens of each cell


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two submissions that agree in what few others wrote.

    Attributes:
        first, second: the students.
        share: of what is rare in the one with less of it, weighted by how rare, from 0 to 1.
        surprise: the sum of the weights, in bits; of little code it is small even if all agrees.
        where: the cells with most of it.
    """

    first: str
    second: str
    share: float
    surprise: float
    where: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Similarity:
    """The pairs that stand out, and the highest share that a student usually has with another.

    ``usual`` is the median over the students; a pair stands out well above it. ``identical`` are
    the pairs that handed in the same file, byte for byte, whatever the others wrote. ``cut`` are
    the students of whose long work only a part was compared.
    """

    pairs: tuple[Pair, ...]
    usual: float
    identical: tuple[tuple[str, str], ...] = ()
    cut: tuple[str, ...] = ()


def tokenize_source(source: str, known: frozenset[str] = frozenset()) -> list[str]:
    """The tokens of Python source, without comments, and with "name" for names of one's own.

    Args:
        source: it need not be valid Python.
        known: names that stay, since the exercise gives them; so do attributes and built-ins.
    """
    tokens: list[str] = []
    # The lexer takes time that grows with the square of the space at the ends of lines.
    lines = [line.rstrip() for line in source[:MOST_SOURCE].split("\n") if line.strip()]
    for kind, text in PythonLexer().get_tokens("\n".join(lines)):
        if kind in Comment or kind in String.Doc or not text.strip():
            continue
        if kind in String:
            if tokens[-1:] != ["string"]:  # a string has several tokens
                tokens.append("string")
        elif kind in Name:
            given = kind in Name.Builtin or text in known or tokens[-1:] == ["."]
            tokens.append(text if given else "name")
        else:
            tokens.append(text.strip())
    return tokens


def split_words(text: str) -> list[str]:
    """The words of an answer in words; characters that nobody sees split none."""
    return re.findall(r"\w+", _UNSEEN.sub("", text)[:MOST_SOURCE].lower())


def names_in(source: str) -> frozenset[str]:
    """The names in Python source."""
    return frozenset(text for kind, text in PythonLexer().get_tokens(source) if kind in Name)


def find_similar_pairs(
    submissions: Mapping[str, Cells], released: Iterable[Sequence[str]] = ()
) -> Similarity:
    """The pairs of submissions that agree in what few others wrote, the most similar first.

    Args:
        submissions: by student, the tokens of what each wrote, cell by cell.
        released: the tokens of the exercise's cells, which everybody has.
    """
    everybodys = {ngram for tokens in released for ngram in _ngrams(tokens)}
    written = {
        student: {cell: _ngrams(tokens) - everybodys for cell, tokens in cells.items()}
        for student, cells in submissions.items()
    }
    who: dict[Ngram, list[str]] = defaultdict(list)
    for student, cells in written.items():
        for ngram in set().union(*cells.values()):
            who[ngram].append(student)
    most = max(2, _COMMON * len(written))
    # A token is in LENGTH sequences and should count once.
    rarity = {
        ngram: math.log2(len(written) / len(students)) / LENGTH
        for ngram, students in who.items()
        if len(students) <= most
    }
    own = dict.fromkeys(written, 0.0)
    shared: dict[tuple[str, str], float] = defaultdict(float)
    for ngram, bits in rarity.items():
        for student in who[ngram]:
            own[student] += bits
        for pair in combinations(who[ngram], 2):
            shared[pair] += bits
    shares = {pair: bits / min(own[pair[0]], own[pair[1]]) for pair, bits in shared.items() if bits}
    usual = _usual_highest(shares, list(written))
    least = max(_LEAST_SHARE, min(_HIGH_SHARE, _TIMES_USUAL * usual))
    pairs = [
        Pair(
            first=first,
            second=second,
            share=share,
            surprise=shared[first, second],
            where=_where(written[first], written[second], rarity),
        )
        for (first, second), share in shares.items()
        if share >= least and shared[first, second] >= _LEAST_SURPRISE and len(written) >= FEWEST
    ]
    return Similarity(pairs=tuple(sorted(pairs, key=lambda pair: -pair.share)), usual=usual)


def _ngrams(tokens: Sequence[str]) -> set[Ngram]:
    return {tuple(tokens[i : i + LENGTH]) for i in range(len(tokens) - LENGTH + 1)}


def _usual_highest(shares: Mapping[tuple[str, str], float], students: Sequence[str]) -> float:
    """The median, over the students, of their highest share with anybody."""
    highest = dict.fromkeys(students, 0.0)
    for pair, share in shares.items():
        for student in pair:
            highest[student] = max(highest[student], share)
    ordered = sorted(highest.values())
    return ordered[len(ordered) // 2] if ordered else 0.0


def _where(
    first: Mapping[str, set[Ngram]],
    second: Mapping[str, set[Ngram]],
    rarity: Mapping[Ngram, float],
) -> tuple[str, ...]:
    """The first student's cells that share most with the second's, at most five."""
    theirs = set().union(*second.values())
    bits = {
        cell: sum(rarity.get(ngram, 0.0) for ngram in ngrams & theirs)
        for cell, ngrams in first.items()
    }
    return tuple(sorted((cell for cell in bits if bits[cell]), key=lambda cell: -bits[cell])[:5])
