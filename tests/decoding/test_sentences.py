"""Text is split at sentence ends, by the same cases in Python and in JavaScript."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.decoding import split_sentences

CASES = json.loads((Path(__file__).parent / "free_text_cases.json").read_text("utf-8"))


@pytest.mark.parametrize(("text", "sentences"), CASES["sentences"])
def test_a_text_is_split_where_a_sentence_ends(text, sentences):
    assert split_sentences(text) == sentences


@given(st.text(alphabet='aBz1 .!?…\n\r"“)', max_size=40))
def test_sentences_joined_are_the_text_and_each_but_blank_text_has_something_to_see(text):
    sentences = split_sentences(text)
    assert "".join(sentences) == text
    assert all(each.strip() for each in sentences) or not text.strip()


@pytest.mark.parametrize("unit", ["." * 50 + "x", " ", "z. ", "1", '!"', "ja. ", "\n"])
def test_a_long_text_is_split_in_time_proportional_to_its_length(unit):
    began = time.process_time()
    text = unit * (100_000 // len(unit)) + "x"
    assert "".join(split_sentences(text)) == text
    assert time.process_time() - began < 5
