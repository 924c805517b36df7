"""The grammar's sentences, which are in lower case, as one would write them."""

from __future__ import annotations

from course_lib.data.grammar.lexicon import NOUNS
from course_lib.data.pairs import SentencePair, TextPair
from course_lib.data.vocabulary import join_words

NAMES = frozenset(noun.de.singular for noun in NOUNS if noun.name)
_DAYS_EN = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())
_DAYS_DE = frozenset("montag dienstag mittwoch donnerstag freitag samstag sonntag tag".split())
# A dative plural has an n (den Hunden), and a weak noun has it in all cases but one (den Löwen).
_GERMAN = _DAYS_DE | frozenset(
    form + ending
    for noun in NOUNS
    for form, endings in (
        (noun.de.singular, ("", "n", "en") if noun.de.weak else ("",)),
        (noun.de.plural, ("", "n")),
    )
    for ending in endings
)
_ENGLISH = _DAYS_EN | NAMES | {"i"}


def with_capitals(pair: SentencePair) -> TextPair:
    """The pair as running text: first words, nouns and names with a capital."""
    after = (*pair.source[1:], "")
    source = [
        _capital(word) if word in _GERMAN and not _is_adjective(word, following) else word
        for word, following in zip(pair.source, after, strict=True)
    ]
    target = [_capital(word) if word in _ENGLISH else word for word in pair.target]
    return TextPair(_sentence(source), _sentence(target))


def _is_adjective(word: str, following: str) -> bool:
    """Whether this is no noun: der Junge, but der junge Hund."""
    return word in ("junge", "jungen") and following in _GERMAN - NAMES


def _sentence(words: list[str]) -> str:
    return _capital(join_words(words))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
