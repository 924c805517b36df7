"""The course's own translator writes on a GPU what it writes on the CPU, by every search.

Its most probable token leads by far more than rounding could change, so the words must be equal;
log-probabilities, sums over a sentence, may differ by 1e-3.
"""

import pytest

from course_lib.data import load_corpus
from course_lib.decoding import Decoding
from course_lib.training import evaluate, head_alignment_errors, load_translator

SENTENCES = 24


@pytest.fixture(scope="module")
def pairs():
    return load_corpus("grammar_de_en").pairs("test", SENTENCES)


@pytest.fixture
def both(device):
    here, there = load_translator(), load_translator()
    there.model.to(device)
    return here, there


DECODINGS = {
    "greedy": Decoding(),
    "beam": Decoding("beam", width=4),
    "top-k": Decoding("sample", top_k=5, seed=1),
    "top-p": Decoding("sample", top_p=0.9, seed=2),
}


@pytest.mark.parametrize("name", DECODINGS)
def test_the_translations_are_the_same(both, pairs, name):
    here, there = (
        translator.translate_texts([pair.source_text for pair in pairs], decoding=DECODINGS[name])
        for translator in both
    )
    assert [str(translation) for translation in here] == [str(each) for each in there]
    for one, other in zip(here, there, strict=True):
        if one.log_prob is not None:
            assert other.log_prob == pytest.approx(one.log_prob, abs=1e-3)


def test_the_probabilities_of_each_token_are_the_same(both, pairs, close):
    here, there = both
    translation = here.translate(pairs[0].source_text)
    probabilities = here.next_token_probabilities(translation)
    close(probabilities, there.next_token_probabilities(translation), 1e-4)


@pytest.mark.slow
def test_scores_and_alignments_are_the_same(both, pairs, close):
    here, there = both
    assert evaluate(here, pairs) == evaluate(there, pairs)
    errors = (head_alignment_errors(translator, pairs) for translator in both)
    close(*errors, 0.02)  # the largest of two nearly equal weights may be another
