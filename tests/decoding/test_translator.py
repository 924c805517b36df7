import pytest
import torch

from course_lib.data import BOS, EOS, PAD, UNK, Vocabulary
from course_lib.decoding import Decoding, Translation, Translator, greedy_decode
from course_lib.errors import CourseError
from course_lib.model import Transformer, preset
from course_lib.training import save_checkpoint


def make_translator(*, unknown=True, max_len=20, seed=0):
    torch.manual_seed(seed)
    specials = (UNK,) if unknown else ()
    source = Vocabulary.from_sentences(
        ["der hund die katze schläft .".split()], specials=(PAD, *specials)
    )
    target = Vocabulary.from_sentences(["the dog cat sleeps .".split()], specials=(PAD, BOS, EOS))
    config = preset(
        "small",
        source_vocab=len(source),
        target_vocab=len(target),
        d_model=16,
        d_ff=32,
        n_heads=2,
        max_len=max_len,
    )
    return Translator(talkative(Transformer(config)), source, target)


def talkative(model):
    """Untrained, but sure of something and in no hurry to end."""
    with torch.no_grad():
        model.output.weight.mul_(3)
        model.output.bias[2] -= 1.0
    return model.eval()


def test_capitals_and_spacing_do_not_change_a_translation():
    translator = make_translator()
    assert translator.translate("Der Hund schläft.") == translator.translate("der hund schläft .")


METHODS = [
    Decoding(),
    Decoding("beam", width=3),
    Decoding("sample", seed=1, top_k=7),
]
TEXTS = ["der hund schläft .", "katze", "die katze schläft", "katze", "hund " * 9]


@pytest.mark.slow
@pytest.mark.parametrize("decoding", METHODS, ids=lambda d: d.method)
@pytest.mark.parametrize("seed", range(3))
def test_a_translation_does_not_depend_on_the_sentences_beside_it(decoding, seed, unchecked):
    translator = make_translator(seed=seed, max_len=14)
    with unchecked():
        alone = [translator.translate(text, decoding) for text in TEXTS]
    together = translator.translate_texts(TEXTS, decoding=decoding)
    in_pairs = translator.translate_texts(TEXTS, decoding=decoding, batch_size=2)
    for a, b, c in zip(alone, together, in_pairs, strict=True):
        assert a.target == b.target == c.target
        assert a.finished == b.finished == c.finished
        assert a.log_prob == b.log_prob or a.log_prob == pytest.approx(b.log_prob, abs=1e-4)
    assert len({len(t.target) for t in together}) > 1


def test_texts_are_translated_like_their_words():
    translator = make_translator()
    words = [translator.source_vocabulary.split(text) for text in TEXTS]
    assert translator.translate_texts(TEXTS) == translator.translate_all(words)


def test_greedy_is_the_default_and_what_greedy_decode_says():
    translator = make_translator()
    ids = greedy_decode(translator.model, torch.tensor([[2, 3]]), 1, 2, 14)[0]
    words = translator.source_vocabulary.decode([2, 3])
    translation = translator.translate_all([words])[0]
    assert translation.target == translator.target_vocabulary.decode(ids.tolist())
    assert translation.log_prob is None


@pytest.mark.slow
def test_a_beam_of_one_translates_greedily_and_a_wider_one_no_worse():
    texts = [*TEXTS, "der hund", "die", "schläft die katze .", "hund katze", ". . .", "die katze ."]
    for seed in range(2):
        translator = make_translator(seed=seed, max_len=14)
        for greedy, one, four in zip(
            *(
                translator.translate_texts(texts, decoding=decoding)
                for decoding in (
                    Decoding(),
                    Decoding("beam", width=1, length_penalty=0.0),
                    Decoding("beam", width=4, length_penalty=0.0),
                )
            ),
            strict=True,
        ):
            assert one.target == greedy.target
            assert one.log_prob <= four.log_prob + 1e-5


def test_samples_follow_their_seed():
    translator = make_translator()
    outputs = {
        seed: [
            str(t)
            for t in translator.translate_texts(TEXTS, decoding=Decoding("sample", seed=seed))
        ]
        for seed in (0, 1)
    }
    assert outputs[0] != outputs[1]
    assert outputs[0][1] == outputs[0][3]  # the same text, so the same draws
    cold = Decoding("sample", temperature=1e-9, seed=1)
    assert translator.translate_texts(TEXTS, decoding=cold) == translator.translate_texts(TEXTS)


class Letters(Vocabulary):
    """A tokenizer of another kind: its tokens are letters, capitals matter, spaces are tokens."""

    def split(self, text):
        return list(text)

    def join(self, tokens):
        return "".join(tokens)


def test_any_tokenizer_can_stand_on_either_side():
    letters = Letters([PAD, BOS, EOS, UNK, *"abcABC ."])
    config = preset(
        "small", source_vocab=12, target_vocab=12, d_model=16, d_ff=32, n_heads=2, max_len=20
    )
    torch.manual_seed(1)
    translator = Translator(talkative(Transformer(config)), letters, letters)
    translation = translator.translate("Ab c?")
    assert translation.source == ["A", "b", " ", "c", "?"]
    assert translation.unknown == ("?",)
    assert len(translation.target) > 1
    assert str(translation) == translation.text == "".join(translation.target)
    translation, record = translator.attend("Ab c")
    assert record.cross.shape[-2:] == (len(translation.target) + 1, 4)


def test_a_translation_made_of_words_alone_is_written_as_words():
    assert str(Translation(source=["hund", "."], target=["the", "dog", "."])) == "the dog."


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
    translator = make_translator(unknown=False)
    message = r"only its own words \([^…]*hund[^…]*\), got 'hun': did you m"
    with pytest.raises(CourseError, match=message):
        translator.translate("der hun")
    translator.source_vocabulary = Vocabulary.from_sentences([[*"abcdefghi"]], specials=(PAD,))
    with pytest.raises(CourseError, match=r"\(a, b, c, d, e, f, g, h, …\), got 'hun'"):
        translator.translate("hun")


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_an_empty_sentence_is_refused(text):
    with pytest.raises(CourseError, match="needs at least one word, got an empty one"):
        make_translator().translate(text)


def test_ten_thousand_words_are_refused_with_both_numbers():
    with pytest.raises(
        CourseError, match="at most 20 tokens.*got 10000: split it into shorter ones"
    ):
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
    assert translator.translate("der hund") == Translation(
        source=["der", "hund"], target=[], finished=True, unknown=(), text=""
    )


def test_attention_is_recorded_for_each_token_read_and_generated():
    translation, record = make_translator().attend("der hund schläft .")
    outputs, read = len(translation.target) + 1, 4  # one more row says <eos>
    assert record.encoder.shape == (2, 1, 2, read, read)
    assert record.decoder.shape == (2, 1, 2, outputs, outputs)
    assert record.cross.shape == (2, 1, 2, outputs, read)


def test_vocabularies_of_another_size_than_the_models_are_refused():
    t = make_translator()
    with pytest.raises(CourseError, match="expects vocabularies of 8 and 8 tokens, got 8 and 9"):
        Translator(t.model, t.source_vocabulary, Vocabulary([*t.target_vocabulary.tokens, "bird"]))


@pytest.mark.usefixtures("own_messages")
def test_text_where_tokens_or_a_list_are_wanted_is_refused_instead_of_read_by_letters():
    t = make_translator()
    with pytest.raises(CourseError, match="list of texts, got one text, 'der hund'"):
        t.translate_texts("der hund")
    with pytest.raises(CourseError, match="list of tokens, got one text, 'der hund'"):
        t.translate_all(["der hund"])
    for wrong in ({"decoding": "beam"}, {"batch_size": 0}, {"batch_size": -1}):
        with pytest.raises(CourseError, match="expected decoding such as .* a positive batch_size"):
            t.translate_texts(["der hund"], **wrong)


@pytest.mark.usefixtures("own_messages")
def test_a_model_inside_another_module_is_refused_with_the_way_out():
    t = make_translator()
    with pytest.raises(CourseError, match="has encode and decode, got DataParallel: if that"):
        Translator(torch.nn.DataParallel(t.model), t.source_vocabulary, t.target_vocabulary)


@pytest.mark.usefixtures("own_messages")
def test_a_model_of_ones_own_translates_and_is_not_saved_as_a_transformer(tmp_path):
    class Mine(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner, self.config, self.device = inner, inner.config, inner.device
            self.encode, self.decode = inner.encode, inner.decode

    t = make_translator()
    mine = Translator(Mine(t.model), t.source_vocabulary, t.target_vocabulary)
    for decoding in (Decoding("greedy"), Decoding("beam"), Decoding("sample")):
        assert mine.translate("der hund", decoding) == t.translate("der hund", decoding)
    with pytest.raises(CourseError, match="can describe, got some of which the model is a Mine"):
        save_checkpoint(tmp_path / "m.safetensors", mine)


def test_each_token_is_the_most_probable_of_its_step():
    translator = make_translator()
    with torch.no_grad():
        translator.model.output.bias[0] -= 9  # no padding, which a translation leaves out
    translation = translator.translate("der hund schläft .")
    probabilities = translator.next_token_probabilities(translation)
    assert probabilities.shape == (len(translation.target) + 1, len(translator.target_vocabulary))
    torch.testing.assert_close(probabilities.sum(dim=-1), torch.ones(len(probabilities)))
    expected = translator.target_vocabulary.encode(translation.target)
    assert probabilities.argmax(dim=-1).tolist()[: len(expected)] == expected
    assert not probabilities.requires_grad


def test_a_translation_of_the_longest_length_can_be_looked_into():
    translator = make_translator(max_len=8)
    with torch.no_grad():
        translator.model.output.bias[:3] = -1e9  # it never ends a sentence
    translation, record = translator.attend("der hund schläft .")
    assert len(translation.target) == 8 and not translation.finished
    assert record.cross[0].shape[-2:] == (8, 4)
    assert translator.next_token_probabilities(translation).shape[0] == 8
