from dataclasses import replace

import pytest

from course_lib.data import CORPORA, corpus_registry, corpus_summaries, load_corpus
from course_lib.errors import CourseError


def test_every_corpus_has_a_summary_of_one_line():
    summaries = corpus_summaries()
    assert {"two_sentences", "grammar_pt_en", "wmt14_de_en", "multi30k", "ted_pt_en"} < {*summaries}
    assert all(0 < len(line) < 100 and "\n" not in line for line in summaries.values())
    assert summaries["ted_gl_pt_en"] == "Galician and Portuguese to English: TED talks"


def test_a_published_corpus_is_loaded_by_its_name(monkeypatch):
    toy = replace(CORPORA["two_sentences"], name="toy")
    published = corpus_registry.PublishedCorpus("a toy", lambda: toy)
    monkeypatch.setitem(corpus_registry.PUBLISHED_CORPORA, "toy", published)
    assert load_corpus("toy") is toy and corpus_summaries()["toy"] == "a toy"


def test_an_unknown_corpus_is_an_error_that_lists_all_names():
    with pytest.raises(CourseError, match=r"one of two_sentences, grammar_de_en.*got 'wmt'"):
        load_corpus("wmt")
    with pytest.raises(
        CourseError,
        match="multi30k, tatoeba_de_en, .*, ted_.* or hub:OWNER/NAME",
    ):
        load_corpus("Multi30k")
