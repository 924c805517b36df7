"""What people say first: templates in ``assets/phrasebook``, whose gaps are filled at random.

The corpora have little of it: Tatoeba's pairs are its shortest, and captions say what is seen.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course_lib.data.everyday.variation import (
    CITIES,
    INVENTED,
    MEN,
    MEN_IN_S,
    TRANSLATED_CITIES,
    WOMEN,
    invented_name,
)
from course_lib.data.pairs import TextPair

PHRASEBOOKS = Path(__file__).parents[2] / "assets" / "phrasebook"  # each file with its own lists
FILLINGS = 30  # of a template, at most
COPIES = 3  # of a phrase without gaps: it is learnt as a whole
SURNAMES = """
Bauer Becker Berger Braun Demir Fischer Graf Hahn Hoffmann Jung Kaiser Keller Klein Koch Kowalski
Krause Lang Lehmann Maier Meyer Müller Neumann Nguyen Novak Peters Roth Schmidt Schneider Schulz
Schwarz Simon Sommer Vogel Wagner Weber Winter Wolf Yilmaz Ziegler Zimmermann
""".split()
_GAP = re.compile(r"\{(\w+?)(\d?)\}")


@dataclass(frozen=True)
class Phrasebook:
    """Templates, and by name the lists of pairs that fill their gaps."""

    templates: tuple[TextPair, ...]
    lists: dict[str, tuple[TextPair, ...]]


@cache
def read_phrasebook(path: Path) -> Phrasebook:
    """The templates and lists of a file.

    A list begins with its name in brackets, the templates with ``[sentences]``; a line is German,
    " | ", English. Lines that begin with # are notes.

    Raises:
        ValueError: a line is none of these, the gaps of its sides differ or have no list, or a
            list is too short for a template with several gaps of it.
    """
    lists: dict[str, list[TextPair]] = {}
    section = ""
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
            lists.setdefault(section, [])
            continue
        sides = line.split(" | ")
        if len(sides) != 2 or not section:
            raise ValueError(f"{path}, line {number}: expected German | English, got {line!r}")
        lists[section].append(TextPair(*sides))
    templates = lists.pop("sentences", [])
    for template in templates:
        german, english = (sorted(_GAP.findall(side)) for side in template)
        unknown = {name for name, _ in german} - {*lists, *_GIVEN}
        if german != english or unknown:
            raise ValueError(
                f"{path}: expected the same gaps on both sides, each with a list, got {template}"
                + (f", without a list: {', '.join(sorted(unknown))}" if unknown else "")
            )
        wanted = Counter(name for name, _ in set(german) if name in lists)
        if short := [name for name, gaps in wanted.items() if len(set(lists[name])) < gaps]:
            raise ValueError(
                f"{path}: expected a different filler for each gap of {template}, but the list "
                f"{short[0]!r} has only {len(set(lists[short[0]]))}"
            )
    filled = {name: tuple(pairs) for name, pairs in lists.items()}
    return Phrasebook(tuple(templates), filled)


def all_phrases() -> list[TextPair]:
    """The sentences of all phrasebooks of the course."""
    books = map(read_phrasebook, sorted(PHRASEBOOKS.glob("*.txt")))
    return [pair for book in books for pair in phrasebook_pairs(book)]


def phrasebook_pairs(book: Phrasebook, seed: int = 0) -> list[TextPair]:
    """Sentences of a phrasebook: of each template at most ``FILLINGS``, no two the same.

    Phrases without gaps stand ``COPIES`` times.
    """
    pairs = []
    for template in book.templates:
        rng = random.Random(f"{seed}/{template.source_text}")
        if _GAP.search(template.source_text):
            drawn = [_filled(template, book, rng) for _ in range(FILLINGS)]
            pairs += [*dict.fromkeys(drawn)]
        else:
            pairs += [_with_capitals(template)] * COPIES
    return pairs


def _filled(template: TextPair, book: Phrasebook, rng: random.Random) -> TextPair:
    chosen: dict[tuple[str, str], TextPair] = {}
    for gap in dict.fromkeys(_GAP.findall(template.source_text)):
        name = gap[0]
        taken = {pair for (other, _), pair in chosen.items() if other == name}
        while (pair := _filler(name, book, rng)) in taken:
            pass
        chosen[gap] = pair

    def side(text: str, index: int) -> str:
        return _GAP.sub(lambda found: chosen[found[1], found[2]][index], text)

    return _with_capitals(TextPair(side(template.source_text, 0), side(template.target_text, 1)))


def _filler(name: str, book: Phrasebook, rng: random.Random) -> TextPair:
    if name in _GIVEN:
        given = _GIVEN[name](rng)
        return given if isinstance(given, TextPair) else TextPair(given, given)
    return rng.choice(book.lists[name])


def _with_capitals(pair: TextPair) -> TextPair:
    return TextPair(*(text[:1].upper() + text[1:] for text in pair))


def _name(rng: random.Random) -> str:
    return invented_name(rng) if rng.random() < INVENTED else rng.choice(MEN + MEN_IN_S + WOMEN)


def _city(rng: random.Random) -> TextPair:
    return rng.choice([*(TextPair(city, city) for city in CITIES), *TRANSLATED_CITIES])


# A text is the same in both languages.
_GIVEN: dict[str, Callable[[random.Random], str | TextPair]] = {
    "name": _name,
    "surname": lambda rng: rng.choice(SURNAMES),
    "city": _city,
    "number": lambda rng: str(rng.randint(2, 99)),
    "hour": lambda rng: str(rng.randint(1, 12)),
    "year": lambda rng: str(rng.randint(1950, 2030)),
    "digit": lambda rng: str(rng.randint(2, 9)),
}
