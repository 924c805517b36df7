"""A small grammar that generates sentence pairs together with their gold alignment."""

from course_lib.data.grammar.grammar_corpus import HELD_OUT, LANGUAGES, SPLITS, sample_pairs

__all__ = ["HELD_OUT", "LANGUAGES", "SPLITS", "sample_pairs"]
