import math

import pytest
import torch

from course_lib.data import Vocabulary
from course_lib.decoding import Translator, known_characters, language_evidence
from course_lib.errors import CourseError
from course_lib.training import load_translator

WORDS = Vocabulary(["<pad>", "<bos>", "<eos>", "<unk>", "ja", "yes", "tom"])


def test_evidence_is_the_difference_of_smoothed_log_probabilities_counted_by_hand():
    evidence = language_evidence(WORDS, ["ja tom", "ja"], ["yes", "tom"])
    ja, yes, tom = (evidence[WORDS.ids[word]].item() for word in ("ja", "yes", "tom"))
    assert ja == pytest.approx(math.log((2 + 1) / (3 + 7)) - math.log((0 + 1) / (2 + 7)))
    assert yes == pytest.approx(math.log(1 / 10) - math.log(2 / 9))
    assert tom == pytest.approx(math.log(2 / 10) - math.log(2 / 9))
    assert evidence.shape == (7,) and evidence.dtype == torch.float32


def test_known_characters_are_those_of_the_sources_without_white_space():
    assert known_characters(["Ja, Tom!\n", "a\u0301 \u200b"]) == "!,JTamoá"


@pytest.mark.parametrize("wrong", [torch.zeros(5), torch.full((932,), math.nan)])
def test_evidence_that_does_not_belong_to_the_vocabulary_is_refused(wrong):
    small = load_translator()
    parts = small.model, small.source_vocabulary, small.target_vocabulary
    with pytest.raises(CourseError, match="expected language_evidence of shape"):
        Translator(*parts, language_evidence=wrong)
