"""Joined sentences keep their words, and only statements are joined."""

from course_lib.data.everyday.joined import CONJUNCTIONS, joined_pairs
from course_lib.data.pairs import TextPair

PAIRS = [
    TextPair("Ich habe Hunger.", "I am hungry."),
    TextPair("Er schläft.", "He is sleeping."),
    TextPair("Wo bist du?", "Where are you?"),
    TextPair("Hunde bellen.", "Dogs bark."),  # a noun: its capital must stay
]


def test_two_statements_become_one_sentence_on_both_sides():
    german = {f"Ich habe Hunger{_space(c)} er schläft." for c, _ in CONJUNCTIONS}
    german |= {f"Er schläft{_space(c)} ich habe Hunger." for c, _ in CONJUNCTIONS}
    english = {f"I am hungry{_space(c)} he is sleeping." for _, c in CONJUNCTIONS}
    english |= {f"He is sleeping{_space(c)} I am hungry." for _, c in CONJUNCTIONS}
    joined = joined_pairs(PAIRS, 100)
    assert {pair.source_text for pair in joined} == german
    assert {pair.target_text for pair in joined} == english


def _space(conjunction):
    return conjunction if conjunction.startswith(",") else f" {conjunction}"


def test_the_conjunction_is_the_same_on_both_sides():
    for german, english in joined_pairs(PAIRS, 50):
        [used] = [c for c in CONJUNCTIONS if f"{_space(c[0])} " in german]
        assert f"{_space(used[1])} " in english


def test_with_fewer_than_two_statements_nothing_is_joined():
    assert joined_pairs(PAIRS[1:], 10) == []
