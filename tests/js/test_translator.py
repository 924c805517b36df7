"""The translator's scripts compute what PyTorch computes, and split text as Python does."""

import difflib
import json
from base64 import b64encode
from typing import get_args

import pytest
import torch

from course_lib.data import UNK, Vocabulary, is_blank, load_corpus, split_words, train_bpe
from course_lib.decoding import Decoding, Translator, translate_free_text
from course_lib.decoding.free_text import RemarkKind
from course_lib.model import Transformer, preset
from course_lib.training import load_translator
from course_lib.viz.web.packed_model import pack_model
from tests.decoding.free_text_translator import free_text_translator
from tests.js.conftest import ROOT, run
from tests.viz.web.tiny_translator import rounded
from tools.models.compare_translator import compare

SHORT = ("Hund", "Quark", "Die alte Köchin sieht den Quark.")
LONG = (
    "Während wir die jungen Nachbarinnen im alten Dorf kennen müssen, schreiben wir heute gern "
    "eine kleine Zeitung, weil der Vater oft schläft."
)
CASES = json.loads((ROOT / "tests/decoding/free_text_cases.json").read_text("utf-8"))
STRANGE = (
    "Ääh\u00a0SS ß İstanbul ΣΑΣ x_1 don't l’été E-Mail -a- ½ ² 漢字 👍🏽 e\u0301te\u0301 \ufeff",
    "a\x1cb\x85c\u3000d\u2028e <pad> <unk> &amp; </script> … „Hund“ — 3,5 % hundd katzze schlaft",
    "हिन्दी ภาษาไทย مُحَمَّد שָׁלוֹם می‌خواهم ශ්‍රී ❤️ 1️⃣ 👩‍👩‍👧 Hun\u00add\u200bkat\u200ez \ufeffhundd . \u0301",
)
LONG_AND_STRANGE = (
    "der alte hund " * 20,
    "der alte hund " * 80,
    "<b>Der Hund</b> & <i>die Katze</i> {sehen} [sich] ~ | ^",
    "Wo schläft der Hund\n\nWohin der Vater geht\tWoher\nwelcher Hund  schläft\n",
    "Der Hund\u200b sieht\u00ad mich\u00a0an \ud83d. DIE KATZE SCHLÄFT heute. DIE KATZE SCHLÄFT",
    "“Der Hund” schläft 12 34 , gern ! . ?! «nie» — 漢字漢字漢字漢字漢字漢字漢字漢字 a\u0308",
)
FOR_BYTES = (
    *STRANGE,
    "Äpfel a\u0308 A\u0308pfel ß ẞ ﬁ 😀👩‍👩‍👧🇩🇪 Привет Ёж 漢字 नमस्ते ١٢٣ 12.345,67 ½",
    "geht's gehts’s l''a 'a' ’ - -- … ... !!! ?! „a“ »b« (c) <eos> <pad> <unk> </s> <|endoftext|>",
    " a  b   c\u00a0d\u3000e\x1cf\x85g\u2028h\u180ei\ufeffj\u200bk \t\tl\n\n m\r\n ",
    "Hälfte \ud83d und \ude00 und \ude00\ud83d, a\u0301\u0308 \u0308 \u0000 \u007f \uffff ~",
    "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen" * 3,
)


@pytest.fixture(scope="module")
def translator():
    return load_translator()


@pytest.fixture(scope="module")
def reads_free_text():
    return rounded(free_text_translator(), bits=16)


def start_node(node, translator, texts, *, width=0, bits=16):
    model = b64encode(pack_model(translator, bits=bits)).decode("ascii")
    given = json.dumps({"model": model, "texts": list(texts), "width": width})
    return run(node, "tests/js/run_translator.js", given=given)


@pytest.fixture
def in_node(node):
    """What the scripts compute for each text with a model."""

    def translate(translator, texts, **options):
        done = start_node(node, translator, texts, **options)
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
        assert result["source"] == translation.source
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


def with_random_weights(source, target, *, bits=16, **changes):
    """An untrained translator, whose weights have as many bits as a page stores."""
    sizes = {"d_model": 16, "d_ff": 24, "max_len": 12, "norm_eps": 1e-3}
    torch.manual_seed(1)
    model = Transformer(
        preset("small", source_vocab=len(source), target_vocab=len(target), **sizes | changes)
    )
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
        model.output.bias[0] = model.output.bias[1] = -100.0  # padding is never generated
    return rounded(Translator(model, source, target), bits=bits)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes", [{"norm": "post", "final_norm": False}, {"norm": "pre", "final_norm": True}]
)
def test_an_untrained_model_with_either_norm_is_computed_too(in_node, changes):
    words = Vocabulary(["<pad>", "<bos>", "<eos>", UNK, *"abcdefgh"])
    translator = with_random_weights(words, words, **changes)
    texts = ["a", "b c d", "h g f e d c b a a b c d"]
    for width in (0, 1, 3, 20):
        results = in_node(translator, texts, width=width)
        assert_equal(translator, texts, results, width=width)
        assert all(len(result["targetIds"]) <= 12 for result in results)


@pytest.fixture(scope="module")
def subwords():
    return train_bpe(
        [pair.source_text for pair in load_corpus("grammar_de_en").pairs("train", 500)], 600
    )


@pytest.mark.slow
@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("tying", ["none", "output", "all"])
def test_tied_tables_and_rows_of_8_bits_are_computed_too(in_node, subwords, tying, bits):
    translator = with_random_weights(subwords, subwords, tying=tying, bits=bits, max_len=80)
    texts = ["der alte hund sieht die katze.", "Ärger 😀!"]
    for width in (0, 3):
        results = in_node(translator, texts, width=width, bits=bits)
        assert_equal(translator, texts, results, width=width)


@pytest.mark.slow
def test_two_vocabularies_of_subwords_stay_two(in_node, subwords):
    translator = with_random_weights(subwords, train_bpe(["dog cat"] * 2, 264), tying="output")
    assert_equal(translator, ["hund"], in_node(translator, ["hund"]))


@pytest.mark.slow
def test_subwords_are_those_of_python_whatever_the_text(in_node, subwords):
    translator = with_random_weights(subwords, subwords, max_len=100_000, d_model=4, n_heads=1)
    texts = [text for text in FOR_BYTES if subwords.split(text)]
    for text, result in zip(texts, in_node(translator, texts), strict=True):
        assert result["source"] == subwords.split(text)


def test_text_is_split_and_similar_words_are_found_as_in_python(in_node, translator):
    known = [word for word in translator.source_vocabulary.tokens if not word.startswith("<")]
    for text, result in zip(STRANGE, in_node(translator, STRANGE), strict=True):
        assert result["source"] == split_words(text)
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


@pytest.mark.slow
@pytest.mark.parametrize("width", [0, 3])
def test_free_text_is_read_translated_and_remarked_on_as_in_python(in_node, reads_free_text, width):
    texts = [text for text, _ in [*CASES["sentences"], *CASES["remarks"]] if not is_blank(text)]
    texts += LONG_AND_STRANGE
    decoding = Decoding("beam", width=width) if width else Decoding()
    expected = translate_free_text(reads_free_text, texts, decoding=decoding)
    results = in_node(reads_free_text, texts, width=width)
    kinds = {kind for sentences in expected for each in sentences for kind in each.remarks}
    assert kinds == {*get_args(RemarkKind)}
    for text, sentences, result in zip(texts, expected, results, strict=True):
        assert result == [
            {
                "source": each.source,
                "read": each.translation and each.translation.source,
                "text": each.translation and str(each.translation),
                "remarks": each.remarks,
            }
            for each in sentences
        ], text
