"""Pieces of words: byte pair encodings trained on a corpus, and tokenizers that others trained.

A rare word is read as several pieces, so no word is unknown (Sennrich et al. 2016; the paper,
section 5.1). The pieces come from the ``tokenizers`` library.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.data.vocabulary import BOS, EOS, PAD, UNK
from course_lib.errors import CourseError

if TYPE_CHECKING:
    import tokenizers

# A word with the blank before it, one digit (numbers are copied, not learnt), a run of signs, or
# blanks. Pieces never cross these borders, so none can spell "<eos>": signs and letters part.
_PIECE = r" ?[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*| ?\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

# What others call our specials, the likeliest first.
_NAMES = {
    PAD: (PAD, "[PAD]", "<|pad|>", "<|padding|>"),
    BOS: (BOS, "<s>", "[CLS]", "<bos>", "[BOS]", "<|startoftext|>", "<|begin_of_text|>"),
    EOS: (EOS, "</s>", "[SEP]", "[EOS]", "<|endoftext|>", "<|end_of_text|>"),
    UNK: (UNK, "[UNK]"),
}

# The visible character that stands for each byte in byte-level tokens: itself if it is visible in
# Latin-1, else one from U+0100 on (a table of GPT-2).
_VISIBLE = {*range(33, 127), *range(161, 173), *range(174, 256)}
_BYTES = {chr(byte): byte for byte in _VISIBLE} | {
    chr(256 + n): byte for n, byte in enumerate(b for b in range(256) if b not in _VISIBLE)
}


class Subwords:
    """Tokens that are pieces of words; made by ``train_bpe`` or by ``from_…``, not by hand.

    Args:
        tokenizer: has the four specials in its model's vocabulary, ``<pad>`` as 0, and not among
            its added tokens: those are looked for in the text, which may hold "<eos>" as words.
    """

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        self._tokenizer = tokenizer
        ids = tokenizer.get_vocab()
        self.tokens: list[str] = sorted(ids, key=ids.__getitem__)
        self.ids: dict[str, int] = {word: ids[word] for word in self.tokens}
        self._never_text = {self.ids[PAD], self.ids[BOS], self.ids[EOS]}
        decoder = json.loads(tokenizer.to_str())["decoder"]
        self._bytes = "ByteLevel" in json.dumps(decoder)

    @classmethod
    def from_json(cls, text: str, *, special: Mapping[str, str] | None = None) -> Subwords:
        """What ``to_json`` wrote, or another tokenizer: BPE, WordPiece, Unigram or WordLevel.

        Its specials are renamed to ours, ``<pad>`` becomes 0 and missing ones are added at the
        end; all other tokens keep their order.

        Args:
            text: JSON of the ``tokenizers`` library.
            special: what the tokenizer calls our specials, e.g. ``{"<eos>": "[END]"}``; the usual
                names ([PAD], </s>, …) are found without.

        Raises:
            CourseError: the text is no tokenizer, or has no such special.
        """
        return cls(_adopt(_load(text, "this text"), special or {}))

    @classmethod
    def from_file(cls, path: str | Path, *, special: Mapping[str, str] | None = None) -> Subwords:
        """``from_json`` of a file.

        Raises:
            CourseError: as ``from_json``, or the file cannot be read.
        """
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "bytes that are no UTF-8 text"
            raise CourseError(
                f"expected a tokenizer.json at {path}, got {reason!r}: "
                "is the path right and the file whole?"
            ) from error
        return cls(_adopt(_load(text, str(path)), special or {}))

    @classmethod
    def from_hub(cls, name: str, *, special: Mapping[str, str] | None = None) -> Subwords:
        """``from_file`` of a model on the Hugging Face hub, e.g. "bert-base-cased"; then cached.

        Raises:
            CourseError: as ``from_file``, or the hub does not answer or has no such file.
        """
        from huggingface_hub import hf_hub_download

        try:
            path = hf_hub_download(name, "tokenizer.json")
        except (OSError, ValueError) as error:
            raise CourseError(
                f"expected the hub to send tokenizer.json of {name!r}, got {type(error).__name__}: "
                "without a connection, or where the model has no such file, place one yourself "
                f"(huggingface.co/{name}/resolve/main/tokenizer.json) for Subwords.from_file"
            ) from error
        return cls.from_file(path, special=special)

    def to_json(self) -> str:
        """All that ``from_json`` needs to make the same tokenizer again."""
        return self._tokenizer.to_str()

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, word: str) -> bool:
        return word in self.ids

    def split(self, text: str) -> list[str]:
        """The tokens of a text; what none of them can spell (never after ``train_bpe``) as it is.

        ``encode`` makes ``<unk>`` of the latter.
        """
        text = _well_formed(text)
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        tokens = [self.tokens[i] for i in self._guarded(encoding.ids)]
        for n, (start, end) in enumerate(encoding.offsets):
            written = text[start:end].strip()
            if tokens[n] == UNK and written and written not in self.ids:
                tokens[n] = written
        return tokens

    def join(self, tokens: Iterable[str]) -> str:
        """Text from tokens; bytes that are no character become U+FFFD."""
        decoder = self._tokenizer.decoder
        return decoder.decode(list(tokens)) if decoder else " ".join(tokens)

    def label(self, token: str) -> str:
        r"""A token as one shows it: "ĠfÃ¼r" as "▁für" (▁ a blank), half a character as ``\xc3``."""
        if self._bytes and all(character in _BYTES for character in token):
            raw = bytes(_BYTES[character] for character in token)
            token = raw.decode("utf-8", "backslashreplace").replace(" ", "▁")
        return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in token)

    def encode(self, words: Iterable[str]) -> list[int]:
        """Ids of tokens; what is no token becomes ``<unk>``."""
        return [self.ids.get(word, self.ids[UNK]) for word in words]

    def encode_texts(self, texts: Sequence[str]) -> list[list[int]]:
        """``encode(split(text))`` of each text, on all cores."""
        encodings = self._tokenizer.encode_batch_fast(
            [_well_formed(text) for text in texts], add_special_tokens=False
        )
        return [self._guarded(encoding.ids) for encoding in encodings]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The tokens of ids, up to ``<eos>`` and without ``<pad>`` and ``<bos>``.

        Raises:
            CourseError: an id is that of no token.
        """
        words: list[str] = []
        for i in ids:
            if not 0 <= i < len(self.tokens):
                raise CourseError(
                    f"expected ids of 0 … {len(self.tokens) - 1}, got {int(i)}: "
                    "do tokenizer and model belong together?"
                )
            word = self.tokens[i]
            if word == EOS:
                break
            if word not in (PAD, BOS):
                words.append(word)
        return words

    def unknown(self, words: Iterable[str]) -> list[str]:
        """What is no token, each once."""
        return list(dict.fromkeys(word for word in words if word not in self.ids))

    def suggestion(self, word: str) -> str:
        """`` : did you mean …?`` for a token spelt alike, else nothing."""
        close = difflib.get_close_matches(word, self.tokens, n=1)
        return f": did you mean {close[0]!r}?" if close else ""

    def _guarded(self, ids: list[int]) -> list[int]:
        # A foreign vocabulary may spell a special in full; text is still no command.
        if self._never_text.isdisjoint(ids):
            return ids
        return [self.ids[UNK] if i in self._never_text else i for i in ids]


def train_bpe(
    texts: Iterable[str], vocab_size: int, *, specials: Sequence[str] = (PAD, BOS, EOS, UNK)
) -> Subwords:
    """A byte pair encoding of texts: ``join(split(text))`` is the text, in NFC, for any text.

    Pieces are sequences of bytes, so there is a token for whatever Unicode holds. (Pieces of
    characters, with bytes where they fail, read better raw but lose blanks at the beginning, write
    "▁" as a blank, and may take the written word "<0x41>" for a byte.) A blank belongs to the word
    after it; the first word gets one too, so that a word is the same piece wherever it stands.

    The same texts give the same tokens, in any order of the texts and on any number of cores. For
    one vocabulary of both languages, train on the texts of both.

    Args:
        texts: lines of the corpus, read once.
        vocab_size: number of tokens, specials and the 256 bytes included; a small corpus, where no
            two pieces meet twice, may give fewer.
        specials: the first tokens; more than the four are free for you, e.g. "<2en>".

    Raises:
        CourseError: no room for specials and bytes, specials that are not those, or one text in
            the place of many.
    """
    import tokenizers
    from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers
    from tqdm.auto import tqdm

    if isinstance(texts, str):
        raise CourseError(
            f"expected many texts, got one of {len(texts)} characters: put it into a list"
        )
    _check_specials(specials)
    smallest = len(specials) + len(_BYTES)
    if vocab_size < smallest:
        raise CourseError(
            f"expected a vocab_size of at least {smallest} ({len(specials)} specials and the 256 "
            f"bytes), got {vocab_size}: 8000 suits a small corpus"
        )
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Prepend(" ")])
    by_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(tokenizers.Regex(_PIECE), "isolated"), by_bytes]
    )
    tokenizer.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,  # what occurs once is learnt by heart
        special_tokens=list(specials),
        initial_alphabet=sorted(_BYTES),
        show_progress=False,  # the bar below is seen in notebooks too
    )
    bar = tqdm(texts, desc="reading texts", unit=" texts", delay=2)
    tokenizer.train_from_iterator((_well_formed(text) for text in bar), trainer)
    return Subwords(_adopt(tokenizer, {}))


def _check_specials(specials: Sequence[str]) -> None:
    named = all(re.fullmatch(r"<[^\W_]\w*>", special) for special in specials)
    distinct = len(set(specials)) == len(specials)
    if not (named and distinct and [*specials[:1]] == [PAD] and {BOS, EOS, UNK} <= {*specials}):
        raise CourseError(
            f"expected {PAD}, then {BOS}, {EOS}, {UNK} and others like them, each once, got "
            f"{list(specials)}: add yours to the four"
        )


def _well_formed(text: str) -> str:
    # Half a surrogate pair (a cut-off emoji of another program) is no character: U+FFFD.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _load(text: str, where: str) -> tokenizers.Tokenizer:
    import tokenizers

    try:
        return tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # the library has no class of its own for it
        raise CourseError(
            f"expected JSON of the tokenizers library in {where}, got {str(error)!r}: "
            "is it damaged, or another kind of file?"
        ) from error


def _adopt(tokenizer: tokenizers.Tokenizer, special: Mapping[str, str]) -> tokenizers.Tokenizer:
    """The same tokenizer as ``Subwords`` wants it: our specials, no more and no randomness."""
    ids = tokenizer.get_vocab()
    ours = _find_specials(ids, special)
    words = [ours.get(word, word) for word in sorted(ids, key=ids.__getitem__)]
    words += [word for word in _NAMES if word not in words]
    words.sort(key=lambda word: word != PAD)
    state = json.loads(tokenizer.to_str())
    _renumber(state["model"], words)
    # Specials are no longer added tokens: those are looked for in texts.
    kept = [t for t in state["added_tokens"] if not t["special"] and t["content"] not in ours]
    for token in kept:
        token["id"] = words.index(token["content"])
    state |= {"added_tokens": kept, "post_processor": None, "truncation": None, "padding": None}
    return _load(json.dumps(state), "the tokenizer with renamed specials")


def _find_specials(ids: Mapping[str, int], special: Mapping[str, str]) -> dict[str, str]:
    """A vocabulary's names of specials, as given or as usual, to ours."""
    for ours, theirs in special.items():
        if ours not in _NAMES or theirs not in ids or (theirs != ours and ours in ids):
            raise CourseError(
                f"expected special to map {', '.join(_NAMES)} to tokens of the vocabulary, got "
                f"{ours!r}: {theirs!r}: is it spelt otherwise, or is there a {ours!r} as well?"
            )
    usual = {
        next((name for name in names if name in ids), ours): ours
        for ours, names in _NAMES.items()
        if ours not in special
    }
    return usual | {theirs: ours for ours, theirs in special.items()}


def _renumber(model: dict[str, Any], words: list[str]) -> None:
    """Give the words their places as ids in a model of the library, in place."""
    if model["type"] == "Unigram":
        scores = dict(model["vocab"])
        # Any other spelling of the text "<eos>" is likelier than the special of that name.
        scores |= dict.fromkeys(_NAMES, -1e6)
        model["vocab"] = [[word, scores.get(word, -1e6)] for word in words]
        model["unk_id"] = words.index(UNK)
        return
    model["vocab"] = {word: i for i, word in enumerate(words)}
    model["unk_token"] = UNK
    if "dropout" in model:
        model["dropout"] = None
