"""The translator's scripts compute what PyTorch computes, and split text as Python does."""

import difflib
import json
from base64 import b64encode

import pytest
import torch

from course_lib.data import UNK, Vocabulary, load_corpus, split_words
from course_lib.decoding import Decoding, Translator
from course_lib.model import Transformer, preset
from course_lib.training import load_translator
from course_lib.viz.web.translator_page import pack_model
from tests.js.conftest import run
from tools.models.compare_translator import compare

SHORT = ("Hund", "Quark", "Die alte Köchin sieht den Quark.")
LONG = (
    "Während wir die jungen Nachbarinnen im alten Dorf kennen müssen, schreiben wir heute gern "
    "eine kleine Zeitung, weil der Vater oft schläft."
)
STRANGE = (
    "Ääh\u00a0SS ß İstanbul ΣΑΣ x_1 don't l’été E-Mail -a- ½ ² 漢字 👍🏽 e\u0301te\u0301 \ufeff",
    "a\x1cb\x85c\u3000d\u2028e <pad> <unk> &amp; </script> … „Hund“ — 3,5 % hundd katzze schlaft",
    "हिन्दी ภาษาไทย مُحَمَّد שָׁלוֹם می‌خواهم ශ්‍රී ❤️ 1️⃣ 👩‍👩‍👧 Hun\u00add\u200bkat\u200ez \ufeffhundd . \u0301",
)


@pytest.fixture(scope="module")
def translator():
    return load_translator()


def start_node(node, translator, texts, *, width=0):
    words = translator.source_vocabulary.tokens, translator.target_vocabulary.tokens
    model = b64encode(pack_model(translator.model, *words)).decode("ascii")
    given = json.dumps({"model": model, "texts": list(texts), "width": width})
    return run(node, "tests/js/run_translator.js", given=given)


@pytest.fixture
def in_node(node):
    """What the scripts compute for each text with a model."""

    def translate(translator, texts, *, width=0):
        done = start_node(node, translator, texts, width=width)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return translate


def assert_equal(translator, texts, results, *, width=0):
    decoding = Decoding("beam", width=width) if width else Decoding()
    found = compare(translator, texts, results, decoding=decoding)
    assert found.different == []
    assert found.logits < 1e-4 and found.weights < 1e-5
    expected = translator.translate_texts(texts, decoding=decoding)
    for result, translation in zip(results, expected, strict=True):
        assert result["sourceWords"] == translation.source
        assert result["unknown"] == list(translation.unknown)
        assert result["finished"] == translation.finished
        if width:
            assert result["logProb"] == pytest.approx(translation.log_prob, abs=1e-4)


@pytest.mark.slow
@pytest.mark.smoke
@pytest.mark.parametrize("width", [0, 4])
def test_logits_weights_and_translations_are_those_of_pytorch(in_node, translator, width):
    texts = (*SHORT, LONG)
    assert len(split_words(LONG)) >= 20
    assert_equal(translator, texts, in_node(translator, texts, width=width), width=width)


@pytest.mark.slow
@pytest.mark.parametrize("width", [0, 4])
def test_fifty_sentences_are_translated_as_in_python(in_node, translator, width):
    corpus = load_corpus("grammar_de_en")
    pairs = [*corpus.pairs("test", 25, seed=1), *corpus.pairs("compositional", 25, seed=1)]
    texts = [pair.source_text for pair in pairs]
    assert_equal(translator, texts, in_node(translator, texts, width=width), width=width)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes", [{"norm": "post", "final_norm": False}, {"norm": "pre", "final_norm": True}]
)
def test_an_untrained_model_with_either_norm_is_computed_too(in_node, changes):
    words = ["<pad>", "<bos>", "<eos>", UNK, *"abcdefgh"]
    sizes = {"d_model": 16, "d_ff": 24, "max_len": 12, "norm_eps": 1e-3}
    torch.manual_seed(1)
    model = Transformer(
        preset("small", source_vocab=len(words), target_vocab=len(words), **sizes, **changes)
    )
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_((parameter + 0.1 * torch.randn_like(parameter)).half())
        model.output.bias[0] = model.output.bias[1] = -100.0  # padding is never generated
    translator = Translator(model, Vocabulary(words), Vocabulary(words))
    texts = ["a", "b c d", "h g f e d c b a a b c d"]
    for width in (0, 1, 3, 20):
        results = in_node(translator, texts, width=width)
        assert_equal(translator, texts, results, width=width)
        assert all(len(result["targetIds"]) <= 12 for result in results)


def test_text_is_split_and_similar_words_are_found_as_in_python(in_node, translator):
    known = [word for word in translator.source_vocabulary.tokens if not word.startswith("<")]
    for text, result in zip(STRANGE, in_node(translator, STRANGE), strict=True):
        assert result["sourceWords"] == split_words(text)
        assert result["unknown"] == translator.source_vocabulary.unknown(split_words(text))
        for word, similar in result["similar"].items():
            assert similar == difflib.get_close_matches(word, known, n=3)
        assert any(result["similar"].values())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" \n", "Expected a German sentence, got an empty one"),
        ("a " * 257, "Expected at most 256 words and punctuation marks, got 257"),
    ],
    ids=["empty", "too long"],
)
def test_a_text_that_is_empty_or_too_long_is_refused(node, translator, text, message):
    done = start_node(node, translator, [text])
    assert f"RangeError: {message}" in done.stderr
