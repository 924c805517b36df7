"""Text as people type it: several sentences, perhaps not German, with signs that no model knows.

A text is split into sentences, and each is looked at before it is translated, so that whatever is
typed gets an answer that makes sense. What is no German is found by a translator with
``language_evidence``. The page of the translator does the same;
tests/decoding/free_text_cases.json holds both to the same cases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from jaxtyping import Float
from torch import Tensor

from course_lib.data import Tokenizer, visible
from course_lib.decoding.decoding_options import Decoding
from course_lib.decoding.sentences import split_sentences
from course_lib.decoding.translator import Translation, Translator
from course_lib.errors import not_one_text

RemarkKind = Literal["left_out", "english", "not_german", "long", "too_long", "cut_off"]

LONG = 40  # tokens: two in a thousand sentences of the training pairs have more
# Measured on 2,000 held-out German sentences of Tatoeba and their translations: at most one of the
# German ones is refused; of the English ones with three words and more, 98 % are called English.
LEAST_EVIDENCE = -3.0  # nats in a German sentence
ENGLISH = -0.75  # nats a token: what is no German sentence and has less is English
# What is neither falls into many short tokens, and none of them is typical of German.
TOKENS_PER_LETTER = 0.6
EVIDENCE_PER_TOKEN = 1.0  # nats
FEWEST_LETTERS = 6  # of a text in short tokens that is called no German

_GREEDY = Decoding("greedy")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_QUESTION = re.compile(
    r"(?:wer|wen|wem|wessen|was|wann|wo|woher|wohin|wie|wieso|weshalb|warum|welche[mnrs]?"
    r"|wo(?:für|mit|von|zu|ran|rum|rauf|raus|rin|rüber|durch|gegen|nach|bei))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class TranslatedSentence:
    """A sentence of a text and its translation; as text, that one, or else the sentence itself.

    Args:
        source: as it was typed, white space around it included.
        translation: None if the sentence is not translated.
        remarks: what a reader should know, a sentence for each kind of remark.
    """

    source: str
    translation: Translation | None = None
    remarks: dict[RemarkKind, str] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.translation is None:
            return self.source
        return self.source.replace(self.source.strip(), str(self.translation))


@dataclass(frozen=True, kw_only=True)
class ReadableSentence:
    """What the model gets of a sentence: its tokens, none if it is not to be translated."""

    tokens: list[str]
    remarks: dict[RemarkKind, str]
    has_added_mark: bool = False


def translate_free_text(
    translator: Translator,
    texts: Sequence[str],
    *,
    decoding: Decoding = _GREEDY,
    batch_size: int = 128,
    on_batch: Callable[[int], object] | None = None,
) -> list[list[TranslatedSentence]]:
    """Each text's sentences with their translations; joined, they keep the spacing of the text.

    Args:
        translator: from German.
        decoding, batch_size, on_batch: as in ``Translator.translate_all``.
    """
    parts = [split_sentences(visible(text)) for text in not_one_text(texts, "texts")]
    readable = [[make_readable(translator, sentence) for sentence in part] for part in parts]
    tokens = [each.tokens for part in readable for each in part if each.tokens]
    translations = iter(
        translator.translate_all(
            tokens, decoding=decoding, batch_size=batch_size, on_batch=on_batch
        )
    )
    return [
        [
            _translated(source, each, next(translations) if each.tokens else None)
            for source, each in zip(sentences, part, strict=True)
        ]
        for sentences, part in zip(parts, readable, strict=True)
    ]


def make_readable(translator: Translator, sentence: str) -> ReadableSentence:
    """The tokens of a sentence that the model can read, and remarks on what it cannot.

    A sentence without a final mark gets one, since nearly all that the model was trained on have
    one; one that is written in capitals gets small letters.
    """
    remarks: dict[RemarkKind, str] = {}
    text, evidence = " ".join(sentence.split()), translator.language_evidence
    if evidence is not None:
        text, left_out = _leave_out_unknown(sentence, {*translator.known_characters})
        if left_out:
            remarks["left_out"] = f"The model has never seen {_listed(left_out)}: left out."
    if not any(c.isalpha() for c in text):
        return ReadableSentence(tokens=[], remarks=remarks)
    if text.isupper() and " " in text:
        text = text.capitalize()
    foreign = {} if evidence is None else _foreign(translator.source_vocabulary, evidence, text)
    if foreign:
        return ReadableSentence(tokens=[], remarks=remarks | foreign)
    needs_mark = text[-1].isalnum()
    mark = ("?" if _QUESTION.match(text) else ".") if needs_mark else ""
    tokens, longest = translator.split(text + mark), translator.model.config.max_len
    if len(tokens) > longest:
        remarks["too_long"] = (
            f"This sentence has {len(tokens)} tokens, and the model reads at most {longest}: "
            "make several sentences of it."
        )
        tokens = []
    elif len(tokens) > LONG:
        remarks["long"] = (
            f"This sentence has {len(tokens)} tokens; hardly any that the model was trained on has "
            f"more than {LONG}, so it may lose its way."
        )
    return ReadableSentence(tokens=tokens, remarks=remarks, has_added_mark=needs_mark)


def _leave_out_unknown(text: str, known: set[str]) -> tuple[str, list[str]]:
    """The text without characters that are not known, and those, side by side ones together."""
    left_out: list[str] = []
    unknown = "".join(c for c in {*text} - known if not c.isspace())
    if "<" in unknown:
        left_out += _TAG.findall(text)
        text = _TAG.sub(" ", text)
    if unknown:
        run = re.compile(f"[{re.escape(unknown)}]+")
        left_out += run.findall(text)
        text = run.sub("", text)
    text = re.sub(r"\s+(?=[.,!?])", "", " ".join(text.split()))
    return text, list(dict.fromkeys(left_out))


def _listed(parts: list[str], most: int = 5) -> str:
    """Such as "a, b and c"."""
    shown = [part if len(part) <= 20 else f"{part[:20]}…" for part in parts[:most]]
    shown += ["others"] * (len(parts) > most)
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if shown[1:] else shown)


def _foreign(
    vocabulary: Tokenizer, evidence: Float[Tensor, " vocab"], text: str
) -> dict[RemarkKind, str]:
    """The remark that a text is not German, if it is not."""
    words = "".join(c if c.isalpha() else " " for c in text).split()
    letters = sum(map(len, words))
    text_ids, words_ids = vocabulary.encode_texts([text, " ".join(words)])
    total, mean = evidence[text_ids].sum(), evidence[text_ids].mean()
    in_short_tokens = len(words_ids) > TOKENS_PER_LETTER * letters
    if in_short_tokens and letters < FEWEST_LETTERS:  # Hm: too little to tell
        return {}
    is_strange = in_short_tokens and mean < EVIDENCE_PER_TOKEN
    if not is_strange and total >= LEAST_EVIDENCE:
        return {}
    if mean < ENGLISH:
        return {"english": "This looks like English; the model reads German."}
    return {"not_german": "These are no German words that the model can read."}


def _translated(
    source: str, readable: ReadableSentence, translation: Translation | None
) -> TranslatedSentence:
    remarks = dict(readable.remarks)
    if translation and not translation.finished:
        remarks["cut_off"] = "Cut off: the model generated no end of sentence."
    if translation and readable.has_added_mark:
        translation = replace(translation, text=str(translation).rstrip(".!?"))
    return TranslatedSentence(source=source, translation=translation, remarks=remarks)
