import copy
import json
import pickle
import unicodedata

import huggingface_hub
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import decoders, models, normalizers, pre_tokenizers

from course_lib.data import BOS, EOS, PAD, UNK, Subwords, Tokenizer, load_tokenizer, train_bpe
from course_lib.errors import CourseError

LINES = [
    "Der Hund schläft, weil er müde ist. <pad> <eos> <0x41>",
    "O gato não dorme: está à espera do João.",
    "L'été, l’homme boit du thé; don't ask why.",
    "猫在睡觉。狗也在睡觉。",
    "القطة نائمة والكلب نائم.",
    "Das 👨‍👩‍👧‍👦 kostet 2017 Euro: https://www.example.org/?q=ä&n=1",
] * 3

HARD = [
    "",
    " ",
    " Anfang",
    "  zwei Blanks  davor,  dazwischen und danach  ",
    "Straßenbahnhaltestellenhäuschen",
    "Às vezes não há pão, João.",
    "Où est l’œuf ? Là-bas, dit-il.",
    "我爱你，中国！",
    "السَّلَامُ عَلَيْكُمْ",
    "नमस्ते ไทย 한국어 ኣማርኛ",
    "👨‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇵🇹 👍🏽 ❤️",
    "Z̷̤̈ȧ̸l̵g̸o̶ schlâ\u0308ft",
    "0123456789 3,14 ½ ² Ⅷ ٣",
    "https://example.org/a_b?x=%20&y=ü#z",
    "▁ein ▁Strich▁ ĠĊ Ã¼ ##aus",
    "\ttab\u00a0nbsp\u200bzwsp\u3000ideographic\r\n\n ",
    "\x00\x07\x7f\ufeff\ufffd\U0010ffff",
    "<eos>",
    "ein <pad> und <bos>ein<eos></s>[SEP] <unk>",
    "<0x41><0xFF>",
]


@pytest.fixture(scope="module")
def subwords():
    return train_bpe(LINES, 400)


def make_file(model, **parts):
    """A tokenizer as libraries store it, with its special tokens among the added tokens."""
    tokenizer = tokenizers.Tokenizer(model)
    for name, part in parts.items():
        if name != "specials":
            setattr(tokenizer, name, part)
    tokenizer.add_special_tokens(parts.get("specials", []))
    return tokenizer.to_str()


def make_bert():
    """A small BERT: English subwords, special tokens in between, a template around each text."""
    words = "[PAD] [unused1] [UNK] [CLS] [SEP] [MASK] the dog sleep ##s Hu ##nd . [ ] < > pad eos P"
    tokenizer = tokenizers.Tokenizer(
        models.WordPiece({word: i for i, word in enumerate(words.split())}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 4), ("[CLS]", 3))
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=9)
    return tokenizer.to_str()


def make_unigram():
    scores = {"<s>": 0.0, "<pad>": 0.0, "</s>": 0.0, "▁": -2.0, "▁a": -1.5, "b": -3.0}
    scores |= dict.fromkeys("</s>eopadn", -4.0)
    return make_file(
        models.Unigram([*scores.items()], None, False),
        pre_tokenizer=pre_tokenizers.Metaspace(),
        decoder=decoders.Metaspace(),
        specials=["<s>", "<pad>", "</s>", "<extra>"],
    )


def test_subwords_are_tokenizers(subwords):
    assert isinstance(subwords, Tokenizer)


def test_the_library_is_imported_only_when_it_is_used(loaded):
    assert "course_lib.data.subwords" in loaded["course_lib.data"]
    assert loaded["course_lib.data"].isdisjoint({"tokenizers", "huggingface_hub"})


def test_specials_come_first_and_tokens_are_listed_in_the_order_of_their_ids(subwords):
    assert subwords.tokens[:4] == [PAD, BOS, EOS, UNK]
    assert subwords.encode(subwords.tokens) == list(range(len(subwords)))
    assert subwords.ids[PAD] == 0 and len(subwords) == 400
    assert "Ġer" in subwords and "er ist" not in subwords


def check_round_trip(tokenizer, text):
    tokens = tokenizer.split(text)
    (ids,) = tokenizer.encode_texts([text])
    assert tokenizer.encode(tokens) == ids
    assert not {tokenizer.ids[word] for word in (PAD, BOS, EOS, UNK)} & {*ids}
    generated = [tokenizer.ids[BOS], *ids, tokenizer.ids[EOS], tokenizer.ids[PAD]]
    assert tokenizer.decode(generated) == tokens
    assert tokenizer.join(tokens) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("text", [*LINES[:6], *HARD])
def test_text_comes_back_as_it_was_and_never_holds_a_special(subwords, text):
    check_round_trip(subwords, text)


@given(text=st.text() | st.text(alphabet=" <>/[]▁ĠÃeospadunk0xA\u0308\n", max_size=20))
def test_any_unicode_comes_back_as_it_was(subwords, text):
    check_round_trip(subwords, text)


def test_training_on_texts_full_of_specials_gives_no_subword_that_spells_one():
    tokenizer = train_bpe(["<eos> x<pad>y <unk><unk> <bos>"] * 50, 500)
    for text in ("<eos>", "x<pad>y", "<unk><unk> <bos><eos>"):
        check_round_trip(tokenizer, text)


def test_half_a_surrogate_pair_becomes_the_replacement_character(subwords):
    assert subwords.join(subwords.split("a\ud83d b")) == "a\ufffd b"
    assert subwords.encode_texts(["\udc00"]) == subwords.encode_texts(["\ufffd"])
    train_bpe(["\ud83d"], 260)


def test_composed_and_decomposed_letters_are_the_same_tokens(subwords):
    assert subwords.split("scha\u0308ft") == subwords.split("sch\u00e4ft")


def test_capitals_are_kept(subwords):
    assert subwords.split("Hund") != subwords.split("hund")


def test_a_word_is_the_same_token_at_the_start_of_a_text_and_later(subwords):
    first, later = subwords.split("er er")
    assert first == later == "Ġer"


def test_an_apostrophe_within_a_word_may_become_part_of_a_subword():
    tokenizer = train_bpe(["don't", "l’eau"] * 9, 999)
    assert [tokenizer.label(token) for token in tokenizer.split("don't l’eau")] == [
        "▁don't",
        "▁l’eau",
    ]


def test_subwords_stay_within_words_and_numbers_are_split_into_digits(subwords):
    labels = [subwords.label(token) for token in train_bpe(["er, ist 2017"] * 9, 999).tokens]
    assert "▁er" in labels and "▁ist" in labels
    assert not [label for label in labels if len(label) > 4 and label[0] not in "<\\"]
    assert subwords.split("2017")[1:] == list("017")


@given(ids=st.lists(st.integers(0, 399)))
def test_any_generated_ids_become_text(subwords, ids):
    tokens = subwords.decode(ids)
    assert not {PAD, BOS, EOS} & {*tokens}
    subwords.join(tokens).encode("utf-8")


def test_invalid_utf_8_becomes_the_replacement_character(subwords):
    assert subwords.join(["Ġa", "Ã", "b"]) == "a\ufffdb"
    assert subwords.join([]) == "" and subwords.join(["日", " x"]).startswith("日")


def test_decode_stops_at_the_end_of_the_sentence_and_drops_pads(subwords):
    ids = [subwords.ids[word] for word in (BOS, "a", PAD, UNK, "b", EOS, "a")]
    assert subwords.decode(ids) == ["a", UNK, "b"]


@pytest.mark.parametrize("i", [-1, 400])
def test_an_id_outside_the_vocabulary_is_an_error(subwords, i):
    with pytest.raises(
        CourseError, match=rf"expected ids from 0 to 399, got {i}: do the tokenizer and"
    ):
        subwords.decode([5, i])


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("Ġer", "▁er"),
        ("ĠfÃ¼r", "▁für"),
        ("Ġ", "▁"),
        ("ĠĠ", "▁▁"),
        ("Ã", r"\xc3"),
        ("aÃ", r"a\xc3"),
        ("Ċ", r"\n"),
        ("âĢį", r"\u200d"),
        ("<eos>", "<eos>"),
        ("zu b", "zu b"),
    ],
)
def test_a_label_shows_the_text_of_a_token(subwords, token, shown):
    assert subwords.label(token) == shown


@given(st.text(st.characters(categories=["L", "Nd"]), max_size=12))
def test_labels_of_single_bytes_show_all_bytes_of_a_text(text):
    alone = train_bpe([], 260)  # nothing but bytes
    raw = unicodedata.normalize("NFC", " " + text).encode() if text else b""
    assert len(alone.split(text)) == len(raw)
    labels = [alone.label(token) for token in alone.split(text)]
    shown = [chr(byte) if byte < 128 else f"\\x{byte:02x}" for byte in raw]
    assert labels == [label.replace(" ", "▁") for label in shown]


def test_without_texts_the_tokens_are_the_bytes_alone():
    assert {*train_bpe([], 9999).tokens[4:]} == {*pre_tokenizers.ByteLevel.alphabet()}


@pytest.mark.parametrize("parallel", ["true", "false"])
def test_the_same_texts_give_the_same_tokens_in_any_order(monkeypatch, subwords, parallel):
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", parallel)
    again = train_bpe(reversed(LINES), 400)
    assert again.to_json() == subwords.to_json()
    assert again.encode_texts(HARD) == subwords.encode_texts(HARD)


def test_the_vocabulary_has_the_given_size_or_less_if_no_pair_of_subwords_occurs_twice():
    assert len(train_bpe(LINES, 300)) == 300
    assert len(train_bpe(["ab ab cd"], 5000)) == 4 + 256 + 2


def test_a_vocabulary_too_small_for_all_bytes_is_an_error():
    with pytest.raises(
        CourseError, match=r"at least 260 \(4 special tokens and the 256 bytes\) .*, got 259"
    ):
        train_bpe(LINES, 259)


def test_a_vocabulary_larger_than_any_is_refused_before_memory_is_taken():
    with pytest.raises(CourseError, match="at most 1,000,000, got 1000000000"):
        train_bpe(LINES, 10**9)


def test_one_text_instead_of_many_is_an_error():
    with pytest.raises(
        CourseError, match="expected a list of texts, got one text, 'train.de.txt': put it"
    ):
        train_bpe("train.de.txt", 400)


@pytest.mark.parametrize(
    "copied",
    [
        lambda subwords: Subwords.from_json(subwords.to_json()),
        lambda subwords: pickle.loads(pickle.dumps(subwords)),
        copy.deepcopy,
    ],
)
def test_a_copy_tokenises_alike(subwords, copied):
    again = copied(subwords)
    assert again.to_json() == subwords.to_json() and again.tokens == subwords.tokens
    assert again.encode_texts([*LINES, *HARD]) == subwords.encode_texts([*LINES, *HARD])
    assert again.join(again.split(LINES[0])) == LINES[0]
    assert again.label("ĠfÃ¼r") == "▁für"


def test_a_tokenizer_is_loaded_from_its_file(subwords, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(subwords.to_json(), "utf-8")
    assert Subwords.from_file(path).to_json() == subwords.to_json()
    assert load_tokenizer(str(path)).tokens == subwords.tokens


def test_berts_specials_get_our_names_and_all_tokens_keep_their_ids():
    bert = Subwords.from_json(make_bert())
    assert bert.tokens[:6] == [PAD, "[unused1]", UNK, BOS, EOS, "[MASK]"] and len(bert) == 20
    tokens = bert.split("the dog sleeps.")
    assert tokens == "the dog sleep ##s .".split()  # no [CLS], no truncation, no padding
    assert bert.encode_texts(["the dog sleeps."]) == [bert.encode(tokens)] == [[6, 7, 8, 9, 12]]
    assert bert.join(tokens) == "the dog sleeps." and bert.label("##s") == "##s"


def test_an_unknown_word_is_reported_and_encoded_as_unk():
    bert = Subwords.from_json(make_bert())
    tokens = bert.split("the Katze sleeps the Katze")
    assert tokens == "the Katze sleep ##s the Katze".split()
    assert bert.unknown(tokens) == ["Katze"]
    assert bert.encode(tokens)[1] == bert.ids[UNK] == bert.encode_texts(["Katze"])[0][0]
    assert bert.suggestion("slep") == ": did you mean 'sleep'?" and bert.suggestion("Katze") == ""


@pytest.mark.parametrize("text", ["[PAD]", "[SEP]", "<pad> the <eos>"])
def test_specials_written_in_a_text_are_not_special_to_bert(text):
    bert = Subwords.from_json(make_bert())
    assert not {bert.ids[word] for word in (PAD, BOS, EOS)} & {*bert.encode_texts([text])[0]}
    assert bert.encode(bert.split(text)) == bert.encode_texts([text])[0]


def test_pad_gets_id_0_and_missing_specials_are_added_at_the_end():
    unigram = Subwords.from_json(make_unigram())
    assert unigram.tokens[:3] == [PAD, BOS, EOS] and unigram.tokens[-2:] == ["<extra>", UNK]
    assert unigram.split("ab") == ["▁a", "b"] and unigram.join(["▁a", "b"]) == "ab"
    assert Subwords.from_json(unigram.to_json()).to_json() == unigram.to_json()


@pytest.mark.parametrize("text", ["<pad>", "a</s>", "<bos><eos>", "<s>"])
def test_a_unigram_model_spells_written_specials_with_other_subwords(text):
    unigram = Subwords.from_json(make_unigram())
    tokens = unigram.split(text)
    assert unigram.join(tokens) == text and len(tokens) > 2
    assert unigram.encode(tokens) == unigram.encode_texts([text])[0]


def test_a_text_that_only_a_special_can_spell_is_unknown():
    text = make_file(
        models.WordLevel({"<pad>": 0, "[UNK]": 1, "hi": 2}, unk_token="[UNK]"),
        pre_tokenizer=pre_tokenizers.WhitespaceSplit(),
    )
    tokenizer = Subwords.from_json(text)
    assert tokenizer.split("hi <pad> yo") == ["hi", UNK, "yo"]
    assert tokenizer.encode_texts(["hi <pad> yo"]) == [[2, 1, 1]]
    assert tokenizer.join(["hi", "yo"]) == "hi yo"  # the file has no decoder


def test_bpe_dropout_in_the_file_is_turned_off():
    vocab = {token: i for i, token in enumerate(["a", "b", "ab", "abab", "<pad>"])}
    merges = [("a", "b"), ("ab", "ab")]
    tokenizer = Subwords.from_json(make_file(models.BPE(vocab, merges, dropout=0.9)))
    assert tokenizer.split("ababab") == ["abab", "ab"]
    assert tokenizer.split("azb") == ["a", "z", "b"]  # the file has no <unk> and would drop z


def test_added_tokens_that_are_not_special_stay_whole():
    tokenizer = tokenizers.Tokenizer.from_str(make_bert())
    tokenizer.add_tokens(["New York", "[pad]"])
    subwords = Subwords.from_json(tokenizer.to_str())
    assert subwords.split("the New York dog") == ["the", "New York", "dog"]
    assert subwords.encode(["New York"]) == [20]


def test_a_special_that_the_file_adds_as_a_word_is_no_longer_found_in_texts():
    words = tokenizers.Tokenizer(models.WordLevel({"hi": 0, "[UNK]": 1}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.add_tokens(["[SEP]"])
    assert words.encode("hi [SEP]").tokens == ["hi", "[SEP]"]
    tokenizer = Subwords.from_json(words.to_str())
    assert tokenizer.tokens == [PAD, "hi", UNK, EOS, BOS]
    assert tokenizer.encode_texts(["hi [SEP]"]) == [tokenizer.encode(["hi", UNK])]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"words": ["<pad>"]}', '{"model": {"vocab": 3}}'])
def test_json_that_is_not_a_tokenizer_is_an_error(text, tmp_path):
    with pytest.raises(CourseError, match="JSON of the tokenizers library in this text, got .*dam"):
        Subwords.from_json(text)
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(CourseError, match=r"library in .*broken.json, got .*damaged"):
        Subwords.from_file(path)


def test_an_incomplete_file_is_an_error(subwords, tmp_path):
    path = tmp_path / "half.json"
    path.write_text(subwords.to_json()[:5000], "utf-8")
    with pytest.raises(CourseError, match=r"half.json, got 'EOF.*: is it damaged"):
        Subwords.from_file(path)


def test_a_missing_file_and_one_that_is_not_text_are_errors(tmp_path):
    with pytest.raises(
        CourseError, match=r"tokenizer.json at .*none, got 'No such file.*path right"
    ):
        Subwords.from_file(tmp_path / "none")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(
        CourseError, match=r"at .*bytes, got 'bytes that are not UTF-8 text': is the"
    ):
        Subwords.from_file(tmp_path / "bytes")


def test_a_tokenizer_is_loaded_from_the_hub(monkeypatch, tmp_path):
    def download(name, file):
        assert name == "bert-base-cased"
        (tmp_path / file).write_text(make_bert())
        return str(tmp_path / file)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert load_tokenizer("hub:bert-base-cased").split("dog") == ["dog"]


@pytest.mark.parametrize("name", ["some/model", ""])
def test_offline_the_error_says_which_file_to_get_and_what_to_do_with_it(monkeypatch, name):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    message = (
        f"tokenizer.json of '{name}' from the Hugging Face hub, got .*: check the name.* Offline, "
        f"get https://huggingface.co/{name}/resolve/main/tokenizer.json .* instead of hub:{name}"
    )
    with pytest.raises(CourseError, match=message):
        load_tokenizer(f"hub:{name}")


def test_a_name_of_the_hub_without_its_prefix_is_an_error_that_says_so():
    with pytest.raises(CourseError, match="at bert-base-cased, got 'No such.* called hub:NAME"):
        load_tokenizer("bert-base-cased")


def test_a_progress_bar_shows_how_many_texts_have_been_read(monkeypatch, capsys):
    import tqdm.auto

    def eager(texts, **settings):
        return tqdm.tqdm(texts, **settings | {"delay": 0})

    monkeypatch.setattr(tqdm.auto, "tqdm", eager)
    train_bpe(LINES, 300)
    assert "reading texts" in capsys.readouterr().err


def test_small_corpora_are_read_without_a_progress_bar(capfd):
    train_bpe(LINES, 300)
    assert capfd.readouterr() == ("", "")


def test_the_json_tokenises_alike_in_the_tokenizers_library(subwords):
    for tokenizer in (subwords, Subwords.from_json(make_bert())):
        stored = tokenizers.Tokenizer.from_str(tokenizer.to_json())
        assert stored.encode("the <pad>").ids == tokenizer.encode_texts(["the <pad>"])[0]


def test_merges_are_pairs_of_tokens_the_first_learnt_first():
    subwords = train_bpe(["ab ab ab"], 263)
    assert subwords.merges() == [("a", "b"), ("Ġ", "ab")]


def test_the_merges_of_a_tokenizer_that_splits_in_another_way_are_refused():
    state = json.loads(train_bpe(["ab"], 260).to_json())
    state["normalizer"] = None
    with pytest.raises(CourseError, match="train_bpe made, got one with another normalizer"):
        Subwords.from_json(json.dumps(state)).merges()
