import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.data import (
    BOS,
    EOS,
    PAD,
    UNK,
    Vocabulary,
    is_blank,
    join_words,
    split_words,
    vocabulary,
)
from course_lib.errors import CourseError


def test_capitals_spacing_and_punctuation_do_not_matter_to_split_words():
    assert split_words("Der Hund  schläft,weil er müde ist.") == (
        "der hund schläft , weil er müde ist .".split()
    )


def test_composed_and_decomposed_umlauts_are_the_same_word():
    assert split_words("scha\u0308ft") == split_words("sch\u00e4ft")


def test_latin_text_is_split_without_asking_which_characters_are_marks(monkeypatch):
    def ask(codes):
        raise AssertionError

    monkeypatch.setattr(vocabulary, "_marks", ask)
    for pattern in (vocabulary._mark, vocabulary._marked_word):
        pattern.cache_clear()
    assert split_words("Größe: naïve Æsir, ĳ!") == ["größe", ":", "naïve", "æsir", ",", "ĳ", "!"]
    with pytest.raises(AssertionError):
        split_words("привет")


# A sentence in scripts with combining marks and joiners, its words and signs parted by spaces.
SCRIPTS = {
    "Hindi": "यह कुत्ता दौड़ता है ।",
    "Thai": "สุนัข กำลัง วิ่ง เร็ว มาก",
    "Arabic with vowels": "الكَلْبُ يَجْرِي .",
    "Hebrew with points": "הַכֶּלֶב רָץ .",
    "Tamil": "நாய் ஓடுகிறது .",
    "Khmer": "ឆ្កែ កំពុង រត់ ។",
    "Burmese": "ခွေး ပြေး နေ တယ် ။",
    "Bengali": "কুকুর দৌড়ায় ।",
    "Tibetan": "ཁྱི རྒྱུགས །",
    "Sinhala": "ශ්‍රී ලංකාව",
    "Persian": "می‌خواهم بروم .",
    "Vietnamese": "con chó chạy .",
    "Turkish": "i̇stanbul güzel .",
    "emoji": "ich mag 👩‍👩‍👧 und ❤️ !",
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_words_of_every_script_stay_whole(script):
    words = unicodedata.normalize("NFC", SCRIPTS[script]).split()
    assert split_words(SCRIPTS[script]) == words
    assert split_words(join_words(words)) == words


@given(st.text())
def test_words_are_the_same_after_they_were_joined(text):
    words = split_words(text)
    assert split_words(" ".join(words)) == words
    assert all(is_blank(text) or word.strip() for word in words)


def test_what_nobody_sees_changes_no_word_and_is_none():
    assert split_words("\ufeffZu\u00adsam\u00admen \u200fשלום\u200e") == ["zusammen", "שלום"]
    assert split_words("ឆ្កែ\u200bរត់") == ["ឆ្កែ", "រត់"]
    for text in ("", " \u00a0", "\u200b", "\ufeff", "\u200e\u2060\u00ad", "\u200d\ufe0f"):
        assert is_blank(text)
    assert split_words("\u200b \ufeff") == []
    assert not is_blank("\u200ba") and not is_blank("\u0301") and not is_blank("❤️")


@given(st.lists(st.sampled_from("der hund liest ein-buch kind's , . ?".split()), max_size=12))
def test_split_words_gives_back_what_join_words_joined(words):
    assert split_words(join_words(words)) == words


def test_join_words_leaves_no_space_before_punctuation():
    assert join_words("yes , he sleeps .".split()) == "yes, he sleeps."


def test_frequent_words_get_small_ids_and_ties_are_alphabetical():
    vocabulary = Vocabulary.from_sentences(["b a".split(), "c b".split()])
    assert vocabulary.tokens == [PAD, BOS, EOS, UNK, "b", "a", "c"]


def test_decode_stops_at_the_end_of_the_sentence_and_drops_pads():
    vocabulary = Vocabulary.from_sentences([["a", "b"]])
    ids = [vocabulary.ids[w] for w in (BOS, "a", PAD, "b", EOS, "a")]
    assert vocabulary.decode(ids) == ["a", "b"]


def test_an_unknown_word_is_read_as_unk_and_reported():
    vocabulary = Vocabulary.from_sentences([["hund"]])
    assert vocabulary.encode(["hund", "kamel"]) == [vocabulary.ids["hund"], vocabulary.ids[UNK]]
    assert vocabulary.unknown(["kamel", "hund", "kamel"]) == ["kamel"]
    assert "hund" in vocabulary and "kamel" not in vocabulary


def test_without_unk_an_unknown_word_is_an_error_that_suggests_a_known_one():
    vocabulary = Vocabulary.from_sentences([["bier", "cola"]], specials=(PAD,))
    with pytest.raises(CourseError, match=r"one of the 3 words.*got 'bierr': did you mean 'bier'"):
        vocabulary.encode(["bierr"])


def test_a_vocabulary_refuses_repeated_words_and_a_missing_pad():
    with pytest.raises(CourseError, match="'a' appears twice"):
        Vocabulary([PAD, "a", "a"])
    with pytest.raises(CourseError, match=r"begins with '<pad>' \(id 0\), got \['a'\]"):
        Vocabulary(["a"])


@pytest.mark.parametrize("i", [-1, 7])
def test_decode_refuses_an_id_that_no_token_has(i):
    with pytest.raises(CourseError, match=rf"ids from 0 to 4, got {i}: do the tokenizer and"):
        Vocabulary.from_sentences([["a"]]).decode([4, i])
