"""The lexicon: the entries of ``word_lists`` as objects, with their inflected forms.

An entry is a *sense*: "bench" and "bank" are two nouns that share the German word "bank". A noun's
``kind`` is its semantic class in the word lists. Verbs and adjectives list the kinds that they go
with, so a baker eats bread and never the other way round, and an ambiguous word occurs only where
the rest of the sentence decides what it means.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from course_lib.data.grammar import word_lists


class Form(NamedTuple):
    """A noun in one language; gender is "m", "f", "n", or "" if the language has none."""

    singular: str
    plural: str
    gender: str = ""
    weak: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Noun:
    """One sense of a noun; ``mass`` nouns have no plural; ``sex`` is "m", "f" or ""."""

    key: str
    kind: str
    en: Form
    de: Form
    pt: Form
    sex: str = ""
    mass: bool = False
    name: bool = False


class GermanVerb(NamedTuple):
    """Forms without the separable prefix: ``ich``, ``er``, ``wir`` (= infinitive), participle."""

    first: str
    third: str
    plural: str
    participle: str
    prefix: str = ""
    auxiliary: str = "haben"


class EnglishVerb(NamedTuple):
    """``rest`` follows the verb (look *for*); ``particle`` comes after a pronoun (pick it *up*)."""

    base: str
    third: str
    past: str
    rest: tuple[str, ...] = ()
    particle: str = ""


class PortugueseVerb(NamedTuple):
    """Present and past for eu, ele, eles; ``rest`` follows (estar *sentado*)."""

    infinitive: str
    present: tuple[str, ...]
    past: tuple[str, ...]
    rest: tuple[str, ...] = ()
    preposition: str = ""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Verb:
    """One sense of a verb; ``frame`` is its word list, subjects and objects are kinds of nouns."""

    key: str
    frame: str
    en: EnglishVerb
    de: GermanVerb
    pt: PortugueseVerb
    subjects: frozenset[str] = frozenset()
    objects: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Adjective:
    """Base forms; a comparative is "" if the grammar does not use it."""

    key: str
    en: str
    en_comparative: str
    de: str
    de_comparative: str
    pt: str
    pt_feminine: str
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Adverb:
    """Groups of words in each language; the k-th groups translate each other."""

    key: str
    en: tuple[str, ...]
    de: tuple[str, ...]
    pt: tuple[str, ...]
    use: str = "any"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Preposition:
    """A preposition with the case it governs in German and the kinds of nouns it goes with."""

    key: str
    en: str
    de: str
    case: str
    pt: str
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Modal:
    """A modal verb: English words, German plural and singular, Portuguese for eu, ele, eles."""

    key: str
    en: tuple[str, ...]
    de_plural: str
    de_singular: str
    pt: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Link:
    """A conjunction; ``order`` is the position of the verb in the German clause after it."""

    key: str
    en: str
    de: str
    pt: str
    order: str
    tense: str


def _rows(table: str) -> list[list[str]]:
    return [[column.strip() for column in line.split("|")] for line in table.strip().splitlines()]


def expand(classes: str) -> frozenset[str]:
    """The kinds in a list of classes, some of which are groups of kinds."""
    kinds: set[str] = set()
    for name in classes.split():
        kinds |= expand(word_lists.GROUPS[name]) if name in word_lists.GROUPS else {name}
    return frozenset(kinds)


def _english_s(word: str) -> str:
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "sh", "ch", "x", "o")) else "s")


def portuguese_plural(word: str) -> str:
    """The regular plural: homens, jornais, mulheres, casas."""
    if word.endswith("m"):
        return word[:-1] + "ns"
    if word.endswith("l"):
        return word[:-1] + "is"
    return word + ("es" if word.endswith(("r", "z")) else "s")


def _noun(kind: str, row: list[str]) -> Noun:
    english, german, portuguese = row
    en, _, en_plural = english.partition("/")
    de_forms, de_gender = german.split()
    de, _, de_plural = de_forms.partition("/")
    pt_forms, pt_gender = portuguese.split()
    pt, _, pt_plural = pt_forms.partition("/")
    sex = {"man": "m", "woman": "f"}.get(kind, "")
    return Noun(
        key=f"{en}.{sex}" if sex else en,
        kind=kind,
        en=Form(en, en_plural or en + "s"),
        de=Form(de, de_plural, de_gender[0], weak=de_gender == "mw"),
        pt=Form(pt, pt_plural or portuguese_plural(pt), pt_gender),
        sex=sex,
        mass=en_plural == "-",
    )


def _name(kind: str, name: str) -> Noun:
    sex = "m" if kind == "man" else "f"
    form = Form(name, name, sex)
    return Noun(key=name, kind=kind, en=form, de=form, pt=form, sex=sex, name=True)


def _german_first(infinitive: str) -> str:
    return infinitive[:-1] + "e" if infinitive.endswith("ern") else infinitive[:-2] + "e"


def _german_verb(forms: str) -> GermanVerb:
    infinitive, third, participle, *sein = forms.split()
    prefix, _, plain = infinitive.rpartition("+")
    first = "weiß" if plain == "wissen" else _german_first(plain)
    return GermanVerb(first, third, plain, participle, prefix, "sein" if sein else "haben")


def _english_verb(forms: str) -> EnglishVerb:
    words, _, past = forms.partition("/")
    base, *rest = words.split()
    particle = rest.pop()[1:] if rest and rest[-1][0] == "+" else ""
    return EnglishVerb(base, _english_s(base), past, tuple(rest), particle)


def _portuguese_verb(forms: str) -> PortugueseVerb:
    infinitive, *rest = forms.split()
    preposition = rest.pop()[1:] if rest and rest[-1][0] == "+" else ""
    stem, theme = infinitive[:-2], infinitive[-2]
    if theme == "a":
        # The spelling changes to keep the sound: ficar - fiquei, ligar - liguei, caçar - cacei.
        soft = stem[:-1] + {"c": "qu", "g": "gu", "ç": "c"}.get(stem[-1], stem[-1])
        present = f"{stem}o {stem}a {stem}am"
        past = f"{soft}ei {stem}ou {stem}aram"
    else:
        hard = stem[:-1] + {"c": "ç", "g": "j"}.get(stem[-1:], stem[-1:])
        present = f"{hard}o {stem}e {stem}em"
        past = f"{stem}i {stem}{theme}u {stem}{theme}ram"
    present = word_lists.PORTUGUESE_PRESENT.get(infinitive, present)
    past = word_lists.PORTUGUESE_PAST.get(infinitive, past)
    return PortugueseVerb(
        infinitive, tuple(present.split()), tuple(past.split()), tuple(rest), preposition
    )


def _verb(frame: str, row: list[str]) -> Verb:
    english, german, portuguese, subjects, *objects = row
    return Verb(
        key=german.split()[0].replace("+", "")
        + "."
        + english.split("/")[0].replace("+", "").replace(" ", "_"),
        frame=frame,
        en=_english_verb(english),
        de=_german_verb(german),
        pt=_portuguese_verb(portuguese),
        subjects=expand(subjects),
        objects=expand(objects[0]) if objects else frozenset(),
    )


def _adjective(row: list[str]) -> Adjective:
    english, german, portuguese, classes = row
    en, _, en_comparative = english.partition("/")
    de, _, de_comparative = german.partition("/")
    pt, _, feminine = portuguese.partition("/")
    feminine = feminine or (pt[:-1] + "a" if pt.endswith("o") else pt)
    return Adjective(
        key=en,
        en=en,
        en_comparative=en_comparative,
        de=de,
        de_comparative=de_comparative,
        pt=pt,
        pt_feminine=feminine,
        kinds=expand(classes),
    )


def _adverb(row: list[str]) -> Adverb:
    use, en, de, pt = row if len(row) == 4 else ["any", *row]
    return Adverb(key=en, en=tuple(en.split()), de=tuple(de.split()), pt=tuple(pt.split()), use=use)


def _preposition(row: list[str]) -> Preposition:
    english, german, case, portuguese, classes = row
    return Preposition(
        key=english, en=english, de=german, case=case, pt=portuguese, kinds=expand(classes)
    )


def _modal(row: list[str]) -> Modal:
    english, german, portuguese = row
    plural, singular = german.split()
    return Modal(
        key=english,
        en=tuple(english.split()),
        de_plural=plural,
        de_singular=singular,
        pt=tuple(portuguese.split()),
    )


def _link(row: list[str]) -> Link:
    english, german, portuguese, order, tense = row
    return Link(key=german, en=english, de=german, pt=portuguese, order=order, tense=tense)


_COMMON = [_noun(kind, row) for kind, table in word_lists.NOUNS.items() for row in _rows(table)]
NAMES = [_name(kind, name) for kind, names in word_lists.NAMES.items() for name in names.split()]
NOUNS = _COMMON + NAMES
VERBS = [_verb(frame, row) for frame, table in word_lists.VERBS.items() for row in _rows(table)]
ADJECTIVES = [_adjective(row) for row in _rows(word_lists.ADJECTIVES)]
TIMES = [_adverb(row) for row in _rows(word_lists.TIMES)]
FREQUENCIES = [_adverb(row) for row in _rows(word_lists.FREQUENCIES)]
MANNERS = [_adverb(row) for row in _rows(word_lists.MANNERS)]
HERE = [_adverb(row) for row in _rows(word_lists.HERE)]
LOCATIVES = [_preposition(row) for row in _rows(word_lists.LOCATIVES)]
INTO, TO, QUEUE, WITH, WITHOUT = (
    _preposition(_rows(row)[0])
    for row in (
        word_lists.INTO,
        word_lists.TO,
        word_lists.QUEUE,
        word_lists.WITH,
        word_lists.WITHOUT,
    )
)
MODALS = [_modal(row) for row in _rows(word_lists.MODALS)]
LINKS = [_link(row) for row in _rows(word_lists.LINKS)]
THAT, WHETHER = (_link(_rows(row)[0]) for row in (word_lists.THAT, word_lists.WHETHER))

_conjugated = Counter(verb.de for verb in VERBS)
# Verbs that share their German forms with another: only the object tells "wear" from "carry".
HOMONYM_VERBS = frozenset(verb for verb in VERBS if _conjugated[verb.de] > 1)

# The speaker: "i" in the singular, "we" in the plural.
SPEAKER = Noun(
    key="speaker",
    kind="speaker",
    en=Form("i", "we"),
    de=Form("ich", "wir"),
    pt=Form("eu", "a gente"),
)
# Question words take the place of nouns.
WHO = Noun(
    key="who",
    kind="man",
    en=Form("who", "who"),
    de=Form("wer", "wer", "m"),
    pt=Form("quem", "quem", "m"),
)
WHAT = Noun(
    key="what",
    kind="tool",
    en=Form("what", "what"),
    de=Form("was", "was", "n"),
    pt=Form("o que", "", "m"),
)
BE = Verb(
    key="be",
    frame="copula",
    en=EnglishVerb("be", "is", "was"),
    de=GermanVerb("bin", "ist", "sind", "gewesen", auxiliary="sein"),
    pt=_portuguese_verb("ser"),
)
ESTAR = _portuguese_verb("estar")  # "be" in a passing state


_shared = Counter((noun.de.singular, noun.de.gender) for noun in _COMMON)
# Nouns that share their German word with another: each occurs only where the other cannot.
HOMONYMS = frozenset(noun for noun in _COMMON if _shared[noun.de.singular, noun.de.gender] > 1)
