"""Subword tokenizers: byte pair encoding (BPE) trained on a corpus, and pretrained tokenizers.

A rare word is split into several subwords, so no word is unknown (Sennrich et al. 2016; the paper,
section 5.1). Training and tokenising are done by the ``tokenizers`` library.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.data.tokenizer import BOS, EOS, PAD, UNK, Tokenizer
from course_lib.errors import CourseError, not_one_text
from course_lib.wording import well_formed

if TYPE_CHECKING:
    import tokenizers

# Pre-tokenization: a word with the space before it, one digit (numbers are copied, not learnt), a
# run of other characters, or white space. A subword never crosses these boundaries, so none can
# spell "<eos>", which has a boundary between signs and letters.
_PRE_TOKEN = r" ?[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*| ?\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

LARGEST_VOCABULARY = 1_000_000  # ``tokenizers`` takes memory for all of it before it begins

# The names of our special tokens in other tokenizers, most common first.
_NAMES = {
    PAD: (PAD, "[PAD]", "<|pad|>", "<|padding|>"),
    BOS: (BOS, "<s>", "[CLS]", "<bos>", "[BOS]", "<|startoftext|>", "<|begin_of_text|>"),
    EOS: (EOS, "</s>", "[SEP]", "[EOS]", "<|endoftext|>", "<|end_of_text|>"),
    UNK: (UNK, "[UNK]"),
}

# The visible character that represents each byte in byte-level tokens: the Latin-1 character if it
# is visible, else one from U+0100 on (GPT-2's table).
_VISIBLE = {*range(33, 127), *range(161, 173), *range(174, 256)}
_BYTES = {chr(byte): byte for byte in _VISIBLE} | {
    chr(256 + n): byte for n, byte in enumerate(b for b in range(256) if b not in _VISIBLE)
}


class Subwords(Tokenizer):
    """A tokenizer whose tokens are subwords; made by ``train_bpe`` and ``load_tokenizer``.

    Args:
        tokenizer: has the four special tokens in its model's vocabulary, ``<pad>`` with id 0, and
            not among its added tokens: the library finds added tokens in the text, but the text
            "<eos>" must not become the special token.
    """

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        self._tokenizer = tokenizer
        ids = tokenizer.get_vocab()
        self.tokens: list[str] = sorted(ids, key=ids.__getitem__)
        self.ids: dict[str, int] = {token: ids[token] for token in self.tokens}
        self._special_ids = {self.ids[PAD], self.ids[BOS], self.ids[EOS]}
        decoder = json.loads(tokenizer.to_str())["decoder"]
        self._bytes = "ByteLevel" in json.dumps(decoder)

    @classmethod
    def from_json(cls, text: str) -> Subwords:
        """A tokenizer from JSON: of ``to_json``, or any BPE, WordPiece, Unigram or WordLevel model.

        Its special tokens, if they have common names ([PAD], </s>, …), are renamed to ours,
        ``<pad>`` gets id 0 and missing ones are added at the end; all other tokens keep their
        order.

        Args:
            text: JSON of the ``tokenizers`` library.

        Raises:
            CourseError: the text is not a tokenizer.
        """
        return cls(_with_our_specials(_parse(text, "this text")))

    @classmethod
    def from_file(cls, path: str | Path) -> Subwords:
        """``from_json`` of a file, usually called tokenizer.json.

        Raises:
            CourseError: as in ``from_json``, or the file cannot be read.
        """
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "bytes that are not UTF-8 text"
            raise CourseError(
                f"expected a tokenizer.json at {path}, got {reason!r}: is the path right and the "
                "file complete? A tokenizer of the Hugging Face hub is called hub:NAME"
            ) from error
        return cls(_with_our_specials(_parse(text, str(path))))

    @classmethod
    def from_hub(cls, name: str) -> Subwords:
        """The tokenizer of a model on the Hugging Face hub, such as "bert-base-cased".

        Its tokenizer.json is downloaded once and cached by the ``huggingface_hub`` library.

        Raises:
            CourseError: as in ``from_file``, or the file cannot be downloaded.
        """
        from huggingface_hub import hf_hub_download

        try:
            path = hf_hub_download(name, "tokenizer.json")
        except (OSError, ValueError) as error:
            raise CourseError(
                f"expected tokenizer.json of {name!r} from the Hugging Face hub, got "
                f"{type(error).__name__}: check the name and the network connection. Offline, get "
                f"https://huggingface.co/{name}/resolve/main/tokenizer.json on another computer, "
                f"and give the path of that file instead of hub:{name}"
            ) from error
        return cls.from_file(path)

    def to_json(self) -> str:
        """The tokenizer as JSON, from which ``from_json`` makes the same tokenizer again."""
        return self._tokenizer.to_str()

    def merges(self) -> list[tuple[str, str]]:
        """The pairs of tokens that are merged, the first learnt first, for a program of your own.

        Raises:
            CourseError: the tokenizer splits text in another way than those of ``train_bpe``.
        """
        state = json.loads(self.to_json())
        ours = json.loads(train_bpe([], len(_NAMES) + len(_BYTES)).to_json())
        for part in ("normalizer", "pre_tokenizer", "decoder"):
            if state[part] != ours[part]:
                raise CourseError(
                    f"expected a tokenizer that train_bpe made, got one with another {part}: its "
                    "merges alone would not split text as it does"
                )
        return [tuple(pair) for pair in state["model"]["merges"]]

    def split(self, text: str) -> list[str]:
        """The tokens of a text.

        Text that the vocabulary cannot spell, which cannot happen after ``train_bpe``, is returned
        as it is, so that it can be shown; ``encode`` turns it into ``<unk>``.
        """
        text = well_formed(text)
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        tokens = [self.tokens[i] for i in self._without_specials(encoding.ids)]
        for n, (start, end) in enumerate(encoding.offsets):
            written = text[start:end].strip()
            if tokens[n] == UNK and written and written not in self.ids:
                tokens[n] = written
        return tokens

    def join(self, tokens: Iterable[str]) -> str:
        """Text from tokens; bytes that are not valid UTF-8 become U+FFFD."""
        decoder = self._tokenizer.decoder
        tokens = list(not_one_text(tokens))
        return decoder.decode(tokens) if decoder else " ".join(tokens)

    def label(self, token: str) -> str:
        r"""A readable token: "▁für" for "ĠfÃ¼r" (▁ is a space), ``\xc3`` for a single byte."""
        if self._bytes and all(character in _BYTES for character in token):
            raw = bytes(_BYTES[character] for character in token)
            token = raw.decode("utf-8", "backslashreplace").replace(" ", "▁")
        return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in token)

    def encode_texts(self, texts: Sequence[str]) -> list[list[int]]:
        """``encode(split(text))`` of each text, on all CPU cores."""
        encodings = self._tokenizer.encode_batch_fast(
            [well_formed(text) for text in not_one_text(texts, "texts")], add_special_tokens=False
        )
        return [self._without_specials(encoding.ids) for encoding in encodings]

    def _without_specials(self, ids: list[int]) -> list[int]:
        # A pretrained vocabulary may tokenise the text "<eos>" to the special token itself.
        if self._special_ids.isdisjoint(ids):
            return ids
        return [self.ids[UNK] if i in self._special_ids else i for i in ids]


def load_tokenizer(name: str) -> Subwords:
    """A pretrained tokenizer: "path/to/tokenizer.json", or "hub:bert-base-cased".

    The second form loads the tokenizer of a model on the Hugging Face hub; see
    ``Subwords.from_hub``.

    Raises:
        CourseError: the file cannot be read or downloaded, or is not a tokenizer.
    """
    if name.startswith("hub:"):
        return Subwords.from_hub(name.removeprefix("hub:"))
    return Subwords.from_file(name)


def train_bpe(texts: Iterable[str], vocab_size: int) -> Subwords:
    """Train a byte-level BPE tokenizer; ``join(split(text))`` is the text, in NFC, for any text.

    Its subwords are sequences of bytes, so it can encode any Unicode text. (BPE on characters with
    byte fallback has more readable tokens, but loses leading spaces, decodes "▁" as a space, and
    may take the text "<0x41>" for a byte.) A space belongs to the word after it; the first word
    gets one too, so that a word has the same tokens at the start of a text and later.

    The same texts give the same tokens, in any order and on any number of cores. For a vocabulary
    shared by both languages, train on the texts of both.

    Args:
        texts: lines of the corpus, read once.
        vocab_size: number of tokens, special tokens and the 256 bytes included. A small corpus may
            give fewer: a pair of subwords is merged only if it occurs at least twice.

    Raises:
        CourseError: ``vocab_size`` is too small for the special tokens and the bytes or larger than
            any vocabulary, or ``texts`` is a single text.
    """
    import tokenizers
    from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers
    from tqdm.auto import tqdm

    smallest = len(_NAMES) + len(_BYTES)
    if not smallest <= vocab_size <= LARGEST_VOCABULARY:
        raise CourseError(
            f"expected a vocab_size of at least {smallest} ({len(_NAMES)} special tokens and the "
            f"256 bytes) and at most {LARGEST_VOCABULARY:,}, got {vocab_size}: 8000 suits a small "
            "corpus"
        )
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Prepend(" ")])
    by_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(tokenizers.Regex(_PRE_TOKEN), "isolated"), by_bytes]
    )
    tokenizer.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,  # merging a pair that occurs once only memorises the corpus
        special_tokens=list(_NAMES),
        initial_alphabet=sorted(_BYTES),
        show_progress=False,  # unlike the bar below, it does not show in notebooks
    )
    bar = tqdm(not_one_text(texts, "texts"), desc="reading texts", unit=" texts", delay=2)
    tokenizer.train_from_iterator((well_formed(text) for text in bar), trainer)
    return Subwords(_with_our_specials(tokenizer))


def _parse(text: str, where: str) -> tokenizers.Tokenizer:
    import tokenizers

    try:
        return tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # the library raises nothing more specific
        raise CourseError(
            f"expected JSON of the tokenizers library in {where}, got {str(error)!r}: "
            "is it damaged, or another kind of file?"
        ) from error


def _with_our_specials(tokenizer: tokenizers.Tokenizer) -> tokenizers.Tokenizer:
    """The same tokenizer with our special tokens, without BPE dropout, padding and truncation."""
    ids = tokenizer.get_vocab()
    ours = {
        next((name for name in names if name in ids), special): special
        for special, names in _NAMES.items()
    }
    tokens = [ours.get(token, token) for token in sorted(ids, key=ids.__getitem__)]
    tokens += [token for token in _NAMES if token not in tokens]
    tokens.sort(key=lambda token: token != PAD)
    state = json.loads(tokenizer.to_str())
    _renumber(state["model"], tokens)
    # Special tokens must not remain added tokens, which the library finds in the text.
    added = [t for t in state["added_tokens"] if not t["special"] and t["content"] not in ours]
    for token in added:
        token["id"] = tokens.index(token["content"])
    state |= {"added_tokens": added, "post_processor": None, "truncation": None, "padding": None}
    return _parse(json.dumps(state), "the tokenizer with renamed special tokens")


def _renumber(model: dict[str, Any], tokens: list[str]) -> None:
    """Number the tokens in their order, in the library's JSON of a model, which is modified."""
    if model["type"] == "Unigram":
        scores = dict(model["vocab"])
        # Any other tokenization of the text "<eos>" is more probable than the special token.
        scores |= dict.fromkeys(_NAMES, -1e6)
        model["vocab"] = [[token, scores.get(token, -1e6)] for token in tokens]
        model["unk_id"] = tokens.index(UNK)
        return
    model["vocab"] = {token: i for i, token in enumerate(tokens)}
    model["unk_token"] = UNK
    if "dropout" in model:
        model["dropout"] = None
