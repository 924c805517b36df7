"""How many sentences the grammar can say: a lower bound, by counting a small part of them."""

from __future__ import annotations

from collections import defaultdict

from course_lib.data.grammar import german, portuguese
from course_lib.data.grammar.choices import adjectives_of, nouns_of
from course_lib.data.grammar.lexicon import VERBS, Noun
from course_lib.data.grammar.meaning import NounPhrase
from course_lib.data.grammar.word_alignment import texts


def _definite_phrases(noun: Noun, case: str, *, name: str) -> set[tuple[str, ...]]:
    """The noun in the singular with "the", plain and with each of its adjectives."""
    phrases = [NounPhrase(noun, adjective=a) for a in (None, *adjectives_of(noun.kind))]
    if name == "grammar_pt_en":
        return {texts(portuguese.phrase_words(p, "s", owner=p)) for p in phrases}
    return {texts(german.phrase_words(p, "s", case=case, owner=p)) for p in phrases}


def lower_bound(name: str = "grammar_de_en") -> int:
    """Distinct source sentences "A und B", where A and B are "der alte bäcker kauft das brot".

    A and B are present, transitive, with a man or woman as subject and a thing as object, both
    definite singulars with one adjective or none; senses that the source language does not tell
    apart are counted once. Everything else (tenses, plurals, questions ...) comes on top.
    """
    objects: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for verb in VERBS:
        if verb.frame == "transitive" and {"man", "woman"} <= verb.subjects:
            for kind in verb.objects - {"man", "woman", "child", "speaker"}:
                for noun in nouns_of(kind):
                    german_verb = verb.de.prefix + verb.de.plural
                    infinitive = verb.pt.infinitive if name == "grammar_pt_en" else german_verb
                    objects[infinitive] |= _definite_phrases(noun, "accusative", name=name)
    people = [noun for kind in ("man", "woman") for noun in nouns_of(kind) if not noun.name]
    subjects = set().union(*(_definite_phrases(noun, "nominative", name=name) for noun in people))
    clauses = sum(len(subjects) * len(things) for things in objects.values())
    return clauses**2
