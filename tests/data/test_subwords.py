import copy
import pickle
import subprocess
import sys
import unicodedata

import huggingface_hub
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import decoders, models, normalizers, pre_tokenizers

from course_lib.data import BOS, EOS, PAD, UNK, Subwords, Tokenizer, train_bpe
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
    """A tokenizer as others store theirs, with specials among its added tokens."""
    tokenizer = tokenizers.Tokenizer(model)
    for name, part in parts.items():
        if name != "specials":
            setattr(tokenizer, name, part)
    tokenizer.add_special_tokens(parts.get("specials", []))
    return tokenizer.to_str()


def make_bert():
    """A small BERT-cased: English pieces, specials in the midst, a template around each text."""
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
    pieces = {"<s>": 0.0, "<pad>": 0.0, "</s>": 0.0, "▁": -2.0, "▁a": -1.5, "b": -3.0}
    pieces |= dict.fromkeys("</s>eopadn", -4.0)
    return make_file(
        models.Unigram([*pieces.items()], None, False),
        pre_tokenizer=pre_tokenizers.Metaspace(),
        decoder=decoders.Metaspace(),
        specials=["<s>", "<pad>", "</s>", "<extra>"],
    )


def test_subwords_are_tokenizers(subwords):
    assert isinstance(subwords, Tokenizer)


def test_the_library_is_not_loaded_before_it_is_used():
    code = "import sys, course_lib.data; print({'tokenizers', 'huggingface_hub'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_specials_come_first_and_every_token_has_the_id_of_its_place(subwords):
    assert subwords.tokens[:4] == [PAD, BOS, EOS, UNK]
    assert subwords.encode(subwords.tokens) == list(range(len(subwords)))
    assert subwords.ids[PAD] == 0 and len(subwords) == 400
    assert "Ġer" in subwords and "er ist" not in subwords


def check_round_trip(tokenizer, text):
    tokens = tokenizer.split(text)
    (ids,) = tokenizer.encode_texts([text])
    assert tokenizer.encode(tokens) == ids
    assert not {tokenizer.ids[word] for word in (PAD, BOS, EOS, UNK)} & {*ids}
    said = [tokenizer.ids[BOS], *ids, tokenizer.ids[EOS], tokenizer.ids[PAD]]
    assert tokenizer.decode(said) == tokens
    assert tokenizer.join(tokens) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("text", [*LINES[:6], *HARD])
def test_text_comes_back_as_it_was_and_never_holds_a_special(subwords, text):
    check_round_trip(subwords, text)


@given(text=st.text() | st.text(alphabet=" <>/[]▁ĠÃeospadunk0xA\u0308\n", max_size=20))
def test_any_unicode_comes_back_as_it_was(subwords, text):
    check_round_trip(subwords, text)


def test_texts_full_of_specials_teach_no_piece_that_spells_one():
    tokenizer = train_bpe(["<eos> x<pad>y <unk><unk> <bos>"] * 50, 500)
    for text in ("<eos>", "x<pad>y", "<unk><unk> <bos><eos>"):
        check_round_trip(tokenizer, text)


def test_half_a_surrogate_pair_is_read_as_no_character(subwords):
    assert subwords.join(subwords.split("a\ud83d b")) == "a\ufffd b"
    assert subwords.encode_texts(["\udc00"]) == subwords.encode_texts(["\ufffd"])
    train_bpe(["\ud83d"], 260)


def test_composed_and_decomposed_letters_are_the_same_tokens(subwords):
    assert subwords.split("scha\u0308ft") == subwords.split("sch\u00e4ft")


def test_capitals_are_kept(subwords):
    assert subwords.split("Hund") != subwords.split("hund")


def test_a_word_is_the_same_piece_at_the_beginning_and_later(subwords):
    first, later = subwords.split("er er")
    assert first == later == "Ġer"


def test_an_apostrophe_within_a_word_may_become_part_of_a_piece():
    tokenizer = train_bpe(["don't", "l’eau"] * 9, 999)
    assert [tokenizer.label(token) for token in tokenizer.split("don't l’eau")] == [
        "▁don't",
        "▁l’eau",
    ]


def test_pieces_stay_within_words_and_numbers_are_read_by_digit(subwords):
    labels = [subwords.label(token) for token in train_bpe(["er, ist 2017"] * 9, 999).tokens]
    assert "▁er" in labels and "▁ist" in labels
    assert not [label for label in labels if len(label) > 4 and label[0] not in "<\\"]
    assert subwords.split("2017")[1:] == list("017")


@given(ids=st.lists(st.integers(0, 399)))
def test_whatever_ids_a_model_says_become_text(subwords, ids):
    said = subwords.decode(ids)
    assert not {PAD, BOS, EOS} & {*said}
    subwords.join(said).encode("utf-8")


def test_bytes_that_are_no_character_become_the_replacement_character(subwords):
    assert subwords.join(["Ġa", "Ã", "b"]) == "a\ufffdb"
    assert subwords.join([]) == "" and subwords.join(["日", " x"]).startswith("日")


def test_decode_stops_at_the_end_of_the_sentence_and_drops_pads(subwords):
    ids = [subwords.ids[word] for word in (BOS, "a", PAD, UNK, "b", EOS, "a")]
    assert subwords.decode(ids) == ["a", UNK, "b"]


@pytest.mark.parametrize("i", [-1, 400])
def test_an_id_of_no_token_is_an_error_that_says_so(subwords, i):
    with pytest.raises(CourseError, match=rf"expected ids of 0 … 399, got {i}: do tokenizer and"):
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
def test_a_label_shows_what_a_token_stands_for(subwords, token, shown):
    assert subwords.label(token) == shown


@given(st.text(st.characters(categories=["L", "Nd"]), max_size=12))
def test_labels_of_single_bytes_name_all_bytes_of_a_text(text):
    alone = train_bpe([], 260)  # nothing but bytes
    raw = unicodedata.normalize("NFC", " " + text).encode() if text else b""
    assert len(alone.split(text)) == len(raw)
    labels = [alone.label(token) for token in alone.split(text)]
    shown = [chr(byte) if byte < 128 else f"\\x{byte:02x}" for byte in raw]
    assert labels == [label.replace(" ", "▁") for label in shown]


def test_all_bytes_are_tokens_and_nothing_else_without_texts():
    assert {*train_bpe([], 9999).tokens[4:]} == {*pre_tokenizers.ByteLevel.alphabet()}


@pytest.mark.parametrize("parallel", ["true", "false"])
def test_the_same_texts_give_the_same_tokens_in_any_order(monkeypatch, subwords, parallel):
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", parallel)
    again = train_bpe(reversed(LINES), 400)
    assert again.to_json() == subwords.to_json()
    assert again.encode_texts(HARD) == subwords.encode_texts(HARD)


def test_a_vocabulary_has_the_size_asked_for_or_less_where_no_two_pieces_meet_twice():
    assert len(train_bpe(LINES, 300)) == 300
    assert len(train_bpe(["ab ab cd"], 5000)) == 4 + 256 + 2


def test_specials_of_ones_own_are_tokens_that_no_text_spells():
    tokenizer = train_bpe(LINES, 400, specials=(PAD, EOS, "<2en>", UNK, BOS))
    assert tokenizer.tokens[:5] == [PAD, EOS, "<2en>", UNK, BOS]
    assert tokenizer.encode(["<2en>", EOS]) == [2, 1]
    assert 2 not in tokenizer.encode_texts(["<2en>"])[0]
    assert Subwords.from_json(tokenizer.to_json()).tokens == tokenizer.tokens


@pytest.mark.parametrize(
    "specials",
    [
        (),
        (BOS, PAD, EOS, UNK),
        (PAD, BOS, EOS),
        (PAD, BOS, EOS, UNK, UNK),
        (PAD, BOS, EOS, UNK, "a"),
        (PAD, BOS, EOS, UNK, "<_>"),
    ],
)
def test_other_specials_are_an_error_that_names_the_four(specials):
    with pytest.raises(CourseError, match=r"<pad>, then <bos>, <eos>, <unk> .* got \[.*add yours"):
        train_bpe(LINES, 400, specials=specials)


def test_a_vocabulary_without_room_for_all_bytes_is_an_error():
    with pytest.raises(
        CourseError, match=r"at least 260 \(4 specials and the 256 bytes\), got 259"
    ):
        train_bpe(LINES, 259)


def test_one_text_instead_of_many_is_an_error():
    with pytest.raises(CourseError, match="expected many texts, got one of 12 characters: put it"):
        train_bpe("train.de.txt", 400)


@pytest.mark.parametrize(
    "copied",
    [
        lambda subwords: Subwords.from_json(subwords.to_json()),
        lambda subwords: pickle.loads(pickle.dumps(subwords)),
        copy.deepcopy,
    ],
)
def test_a_copy_reads_texts_alike(subwords, copied):
    again = copied(subwords)
    assert again.to_json() == subwords.to_json() and again.tokens == subwords.tokens
    assert again.encode_texts([*LINES, *HARD]) == subwords.encode_texts([*LINES, *HARD])
    assert again.join(again.split(LINES[0])) == LINES[0]
    assert again.label("ĠfÃ¼r") == "▁für"


def test_a_tokenizer_comes_back_from_its_file(subwords, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(subwords.to_json(), "utf-8")
    assert Subwords.from_file(path).to_json() == subwords.to_json()
    assert Subwords.from_file(str(path)).tokens == subwords.tokens


def test_berts_specials_get_our_names_and_all_tokens_keep_their_ids():
    bert = Subwords.from_json(make_bert())
    assert bert.tokens[:6] == [PAD, "[unused1]", UNK, BOS, EOS, "[MASK]"] and len(bert) == 20
    tokens = bert.split("the dog sleeps.")
    assert tokens == "the dog sleep ##s .".split()  # no [CLS], no truncation, no padding
    assert bert.encode_texts(["the dog sleeps."]) == [bert.encode(tokens)] == [[6, 7, 8, 9, 12]]
    assert bert.join(tokens) == "the dog sleeps." and bert.label("##s") == "##s"


def test_a_foreign_word_is_reported_and_read_as_unk():
    bert = Subwords.from_json(make_bert())
    tokens = bert.split("the Katze sleeps the Katze")
    assert tokens == "the Katze sleep ##s the Katze".split()
    assert bert.unknown(tokens) == ["Katze"]
    assert bert.encode(tokens)[1] == bert.ids[UNK] == bert.encode_texts(["Katze"])[0][0]
    assert bert.suggestion("slep") == ": did you mean 'sleep'?" and bert.suggestion("Katze") == ""


@pytest.mark.parametrize("text", ["[PAD]", "[SEP]", "<pad> the <eos>"])
def test_specials_written_in_a_text_are_no_specials_for_bert(text):
    bert = Subwords.from_json(make_bert())
    assert not {bert.ids[word] for word in (PAD, BOS, EOS)} & {*bert.encode_texts([text])[0]}
    assert bert.encode(bert.split(text)) == bert.encode_texts([text])[0]


def test_pad_becomes_0_and_the_missing_are_added_at_the_end():
    unigram = Subwords.from_json(make_unigram())
    assert unigram.tokens[:3] == [PAD, BOS, EOS] and unigram.tokens[-2:] == ["<extra>", UNK]
    assert unigram.split("ab") == ["▁a", "b"] and unigram.join(["▁a", "b"]) == "ab"
    assert Subwords.from_json(unigram.to_json()).to_json() == unigram.to_json()


@pytest.mark.parametrize("text", ["<pad>", "a</s>", "<bos><eos>", "<s>"])
def test_a_unigram_spells_written_specials_with_other_pieces(text):
    unigram = Subwords.from_json(make_unigram())
    tokens = unigram.split(text)
    assert unigram.join(tokens) == text and len(tokens) > 2
    assert unigram.encode(tokens) == unigram.encode_texts([text])[0]


def test_where_only_a_special_spells_a_text_it_is_unknown():
    text = make_file(
        models.WordLevel({"<pad>": 0, "[UNK]": 1, "hi": 2}, unk_token="[UNK]"),
        pre_tokenizer=pre_tokenizers.WhitespaceSplit(),
    )
    tokenizer = Subwords.from_json(text)
    assert tokenizer.split("hi <pad> yo") == ["hi", UNK, "yo"]
    assert tokenizer.encode_texts(["hi <pad> yo"]) == [[2, 1, 1]]
    assert tokenizer.join(["hi", "yo"]) == "hi yo"  # the file has no decoder


def test_a_text_is_read_alike_each_time_although_the_file_asks_for_bpe_dropout():
    vocab = {piece: i for i, piece in enumerate(["a", "b", "ab", "abab", "<pad>"])}
    merges = [("a", "b"), ("ab", "ab")]
    tokenizer = Subwords.from_json(make_file(models.BPE(vocab, merges, dropout=0.9)))
    assert tokenizer.split("ababab") == ["abab", "ab"]
    assert tokenizer.split("azb") == ["a", "z", "b"]  # the file has no <unk> and would drop z


def test_specials_with_unusual_names_can_be_given():
    text = make_file(
        models.WordLevel({"hi": 0, "<blank>": 1, "END": 2, "[EOS]": 3}, unk_token="<blank>"),
        specials=["<blank>", "END"],
    )
    tokenizer = Subwords.from_json(text, special={PAD: "<blank>", EOS: "END"})
    assert tokenizer.tokens == [PAD, "hi", EOS, "[EOS]", BOS, UNK]


@pytest.mark.parametrize("special", [{PAD: "<blank>"}, {"<end>": "hi"}, {PAD: "hi"}])
def test_specials_that_the_vocabulary_has_not_are_an_error(special):
    text = make_file(models.WordLevel({"<pad>": 0, "hi": 1}, unk_token="hi"))
    ((ours, theirs),) = special.items()
    with pytest.raises(
        CourseError, match=rf"to tokens of the vocabulary, got '{ours}': '{theirs}'"
    ):
        Subwords.from_json(text, special=special)


def test_added_words_that_are_no_specials_stay_whole():
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
def test_what_is_no_tokenizer_is_an_error(text, tmp_path):
    with pytest.raises(CourseError, match="JSON of the tokenizers library in this text, got .*dam"):
        Subwords.from_json(text)
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(CourseError, match=r"library in .*broken.json, got .*damaged"):
        Subwords.from_file(path)


def test_half_a_file_is_an_error(subwords, tmp_path):
    path = tmp_path / "half.json"
    path.write_text(subwords.to_json()[:5000], "utf-8")
    with pytest.raises(CourseError, match=r"half.json, got 'EOF.*: is it damaged"):
        Subwords.from_file(path)


def test_a_missing_file_and_one_that_is_no_text_are_errors(tmp_path):
    with pytest.raises(
        CourseError, match=r"tokenizer.json at .*none, got 'No such file.*path right"
    ):
        Subwords.from_file(tmp_path / "none")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(
        CourseError, match=r"at .*bytes, got 'bytes that are no UTF-8 text': is the"
    ):
        Subwords.from_file(tmp_path / "bytes")


def test_the_hubs_file_is_read_like_any_other(monkeypatch, tmp_path):
    def download(name, file):
        (tmp_path / file).write_text(make_bert())
        return str(tmp_path / file)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert Subwords.from_hub("bert-base-cased").split("dog") == ["dog"]


def test_without_a_connection_the_hub_is_an_error_that_names_the_file(monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    message = "json of 'some/model', got .*: without a connection.*some/model/resolve/main/tokeniz"
    with pytest.raises(CourseError, match=message):
        Subwords.from_hub("some/model")


def test_a_bar_shows_how_far_reading_has_come(monkeypatch, capsys):
    import tqdm.auto

    def eager(texts, **settings):
        return tqdm.tqdm(texts, **settings | {"delay": 0})

    monkeypatch.setattr(tqdm.auto, "tqdm", eager)
    train_bpe(LINES, 300)
    assert "reading texts" in capsys.readouterr().err


def test_small_corpora_are_read_in_silence(capfd):
    train_bpe(LINES, 300)
    assert capfd.readouterr() == ("", "")


def test_the_stored_form_reads_texts_alike_in_the_bare_library(subwords):
    for tokenizer in (subwords, Subwords.from_json(make_bert())):
        stored = tokenizers.Tokenizer.from_str(tokenizer.to_json())
        assert stored.encode("the <pad>").ids == tokenizer.encode_texts(["the <pad>"])[0]
