"""From a trained model to translations."""

from course_lib.decoding.beam import Hypothesis, beam_search, length_normaliser
from course_lib.decoding.decoding_options import Decoding
from course_lib.decoding.evaluating import evaluating
from course_lib.decoding.free_text import TranslatedSentence, translate_free_text
from course_lib.decoding.greedy import greedy_decode
from course_lib.decoding.language_evidence import known_characters, language_evidence
from course_lib.decoding.sampling import sample_decode, sampling_probabilities
from course_lib.decoding.sentences import split_sentences
from course_lib.decoding.translator import Translation, Translator

__all__ = [
    "Decoding",
    "Hypothesis",
    "TranslatedSentence",
    "Translation",
    "Translator",
    "beam_search",
    "evaluating",
    "greedy_decode",
    "known_characters",
    "language_evidence",
    "length_normaliser",
    "sample_decode",
    "sampling_probabilities",
    "split_sentences",
    "translate_free_text",
]
