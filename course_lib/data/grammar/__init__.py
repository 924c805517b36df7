"""A small grammar of ours: sentence pairs whose word alignment is known, because we derived it."""

from course_lib.data.grammar.grammar_corpus import HELD_OUT, LANGUAGES, SPLITS, sample_pairs

__all__ = ["HELD_OUT", "LANGUAGES", "SPLITS", "sample_pairs"]
