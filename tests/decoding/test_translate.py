import pytest
import torch

from course_lib.data import EOS, PAD, SOS, UNK, Vocabulary
from course_lib.decoding import Translation, Translator
from course_lib.errors import CourseError
from course_lib.model import Transformer, preset


def make_translator(*, unknown=True, max_len=20):
    torch.manual_seed(0)
    specials = (UNK,) if unknown else ()
    source = Vocabulary.from_sentences(
        ["der hund die katze schläft .".split()], specials=(PAD, *specials)
    )
    target = Vocabulary.from_sentences(["the dog cat sleeps .".split()], specials=(PAD, SOS, EOS))
    config = preset(
        "small",
        source_vocab=len(source),
        target_vocab=len(target),
        d_model=16,
        d_ff=32,
        n_heads=2,
        max_len=max_len,
    )
    return Translator(Transformer(config).eval(), source, target)


def test_capitals_and_spacing_do_not_change_a_translation():
    translator = make_translator()
    assert translator.translate("Der Hund schläft.") == translator.translate("der hund schläft .")


def test_translations_come_back_in_the_order_of_the_sentences():
    translator = make_translator()
    sentences = [s.split() for s in ("der hund schläft .", "katze", "die katze schläft")]
    together = translator.translate_all(sentences, batch_size=2)
    assert [t.source for t in together] == sentences
    assert [t.target for t in together] == [
        translator.translate_all([s])[0].target for s in sentences
    ]


def test_unknown_words_are_translated_and_reported():
    assert make_translator().translate("der hamster schläft").unknown == ("hamster",)


def test_a_model_without_unk_says_which_words_it_knows():
    with pytest.raises(CourseError, match=r"only its own words \(.*hund.*\), got 'hun': did you m"):
        make_translator(unknown=False).translate("der hun")


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_an_empty_sentence_is_refused(text):
    with pytest.raises(CourseError, match="needs at least one word, got an empty one"):
        make_translator().translate(text)


def test_ten_thousand_words_are_refused_with_both_numbers():
    with pytest.raises(CourseError, match=r"at most 20 words.*got 10000: .*shorter pieces"):
        make_translator().translate("hund " * 10_000)


def test_a_sentence_of_the_longest_length_is_translated():
    translation = make_translator().translate("hund " * 20)
    assert len(translation.source) == 20
    assert len(translation.target) <= 20


def test_a_translation_that_was_cut_off_is_not_called_finished():
    translator = make_translator()
    with torch.no_grad():
        translator.model.output.bias[translator.target_vocabulary.ids[EOS]] = -1e9
    assert not translator.translate("der hund").finished
    with torch.no_grad():
        translator.model.output.bias[translator.target_vocabulary.ids[EOS]] = 1e9
    assert translator.translate("der hund") == Translation(["der", "hund"], [], True, ())


def test_attention_is_recorded_for_each_word_read_and_said():
    translation, record = make_translator().attend("der hund schläft .")
    said, read = len(translation.target) + 1, 4  # one more row says <eos>
    assert record.encoder.shape == (2, 1, 2, read, read)
    assert record.decoder.shape == (2, 1, 2, said, said)
    assert record.cross.shape == (2, 1, 2, said, read)


def test_vocabularies_of_another_size_than_the_models_are_refused():
    t = make_translator()
    with pytest.raises(CourseError, match="expects vocabularies of 8 and 8 words, got 8 and 9"):
        Translator(t.model, t.source_vocabulary, Vocabulary([*t.target_vocabulary.words, "bird"]))
