"""The comparison finds a wrong logit, a wrong weight and another translation."""

import copy

import pytest
import torch

from course_lib.data import UNK, Vocabulary
from course_lib.decoding import Decoding, Translator
from course_lib.model import Transformer, preset, record_attention
from tools.models.compare_translator import UNKNOWN, Comparison, compare, report, sample_texts

WORDS = ["<pad>", "<bos>", "<eos>", UNK, "a", "b"]


@pytest.fixture
def translator():
    torch.manual_seed(0)
    sizes = {"source_vocab": 6, "target_vocab": 6, "d_model": 8, "d_ff": 8, "max_len": 9}
    model = Transformer(preset("small", **sizes)).eval()
    return Translator(model, Vocabulary(WORDS), Vocabulary(WORDS))


def results_of(translator, texts):
    """What scripts without a bug would return."""
    results = []
    for text in texts:
        translation, source = translator.translate(text), translator.source_vocabulary.split(text)
        read = ["<bos>", *translation.target]
        ids = [
            torch.tensor([translator.source_vocabulary.encode(words)]) for words in (source, read)
        ]
        with torch.no_grad(), record_attention(translator.model) as record:
            logits = translator.model(*ids)
        attention = [part.tolist() for part in (record.encoder, record.decoder, record.cross)]
        results.append(
            {
                "text": str(translation),
                "input": read,
                "logits": logits.flatten().tolist(),
                "attention": attention,
            }
        )
    return results


def test_equal_results_are_equal(translator):
    texts = ["a", "b a a"]
    found = compare(translator, texts, results_of(translator, texts), decoding=Decoding())
    assert found.equal and found.sentences == 2
    assert found.logits < 1e-6 and found.weights < 1e-6


def test_a_wrong_logit_weight_or_translation_is_found(translator):
    right = results_of(translator, ["b a a"])
    for change, where in (
        (lambda result: result["logits"].__setitem__(3, result["logits"][3] + 0.5), "logits"),
        (lambda result: result["attention"][2][1][0][0][0].__setitem__(0, 2.0), "weights"),
    ):
        wrong = copy.deepcopy(right)
        change(wrong[0])
        found = compare(translator, ["b a a"], wrong, decoding=Decoding())
        assert getattr(found, where) >= 0.5
    wrong = [right[0] | {"text": "something else"}]
    found = compare(translator, ["b a a"], wrong, decoding=Decoding())
    assert not found.equal
    assert [text for text, *_ in found.different] == ["b a a"]


def test_a_translation_that_differs_is_printed_with_both_versions():
    found = Comparison(1e-5, 1e-6, [("der hund", "the cat", "the dog")], 20)
    assert report(found, Decoding("beam")) == (
        "beam: 19 of 20 translations equal; largest difference of a logit 1.0e-05, of an "
        "attention weight 1.0e-06\n  der hund\n    page:   the cat\n    Python: the dog"
    )


def test_the_sentences_are_distinct_and_some_have_an_unknown_word():
    texts = sample_texts(60)
    assert len(set(texts)) == 60
    assert sum(UNKNOWN in text for text in texts) == 3
