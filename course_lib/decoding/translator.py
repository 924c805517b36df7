"""A model and its two vocabularies together: text in, text out."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.data import BOS, EOS, UNK, Tokenizer, is_blank, join_words, pad_sequences
from course_lib.decoding.beam import beam_search
from course_lib.decoding.decoding_options import Decoding, check_largest
from course_lib.decoding.evaluating import evaluating
from course_lib.decoding.greedy import greedy_decode
from course_lib.decoding.sampling import sample_decode
from course_lib.errors import CourseError, not_one_text, shortened
from course_lib.model import AttentionRecord, Transformer, record_attention

_GREEDY = Decoding("greedy")

# A sentence's translation: token ids and, of beam search, their log-probability.
Output = tuple[list[int], float | None]


@dataclass(frozen=True, kw_only=True)
class Translation:
    """A source sentence and its translation, as tokens.

    ``finished`` is False if the model had not generated EOS at the maximum length; ``unknown``
    lists the source tokens that it read as ``<unk>``; ``text`` is the target as one would write it;
    ``log_prob``, in nats, is known where beam search found the translation.
    """

    source: list[str]
    target: list[str]
    finished: bool = True
    unknown: tuple[str, ...] = ()
    text: str | None = None
    log_prob: float | None = None

    def __str__(self) -> str:
        return join_words(self.target) if self.text is None else self.text


class Translator:
    """Translates text with a model and the vocabularies it was trained with.

    Args:
        model: maps source ids to target ids; one of your own needs the ``config``, ``encode``,
            ``decode`` and ``device`` of a Transformer.
        source_vocabulary, target_vocabulary: of the sizes that the model was built for; of words
            or of subwords.
        language_evidence: for each token of a shared vocabulary, how much more probable it is in
            the source language than in the target language (see ``language_evidence``); by it,
            ``translate_free_text`` knows what is not the source language.
        known_characters: those that the sources of the training pairs have.

    Raises:
        CourseError: model and vocabularies do not belong together, or the model has no ``encode``.
    """

    def __init__(
        self,
        model: Transformer,
        source_vocabulary: Tokenizer,
        target_vocabulary: Tokenizer,
        *,
        language_evidence: Float[Tensor, " vocab"] | None = None,
        known_characters: str = "",
    ) -> None:
        if not hasattr(model, "encode"):
            raise CourseError(
                f"expected a model that has encode and decode, got {type(model).__name__}: if that "
                "has the model inside, as DataParallel does, pass the model itself"
            )
        sizes = len(source_vocabulary), len(target_vocabulary)
        expected = model.config.source_vocab, model.config.target_vocab
        if sizes != expected:
            raise CourseError(
                f"the model expects vocabularies of {expected[0]} and {expected[1]} tokens, got "
                f"{sizes[0]} and {sizes[1]}: do they come from another run?"
            )
        for token in (BOS, EOS):
            if token not in target_vocabulary:
                raise CourseError(
                    f"expected {token} in the target vocabulary, which translating begins and ends "
                    f"with, got {len(target_vocabulary)} tokens without it: was it made for the "
                    "source?"
                )
        if language_evidence is not None and not (
            language_evidence.shape == (sizes[0],) and language_evidence.isfinite().all()
        ):
            raise CourseError(
                f"expected language_evidence of shape ({sizes[0]},), a finite number a token, got "
                f"{shortened(str(language_evidence))} of shape {tuple(language_evidence.shape)}: "
                "was it computed with another vocabulary?"
            )
        self.model = model
        self.source_vocabulary = source_vocabulary
        self.target_vocabulary = target_vocabulary
        self.language_evidence = language_evidence
        self.known_characters = known_characters

    def translate(self, text: str, decoding: Decoding = _GREEDY) -> Translation:
        """Translate one sentence. A vocabulary of words ignores capitals and spacing.

        Raises:
            CourseError: the sentence is empty, too long, or has a word that cannot be read.
        """
        return self.translate_texts([text], decoding=decoding)[0]

    def split(self, text: str) -> list[str]:
        """The source tokens of a text, none if nothing in it can be seen."""
        return [] if is_blank(text) else self.source_vocabulary.split(text)

    def translate_texts(
        self, texts: Sequence[str], *, decoding: Decoding = _GREEDY, batch_size: int = 128
    ) -> list[Translation]:
        """``translate`` each of the sentences, many at a time.

        Raises:
            CourseError: as ``translate``.
        """
        sentences = [self.split(text) for text in not_one_text(texts, "texts")]
        return self.translate_all(sentences, decoding=decoding, batch_size=batch_size)

    def translate_all(
        self,
        sentences: Sequence[Sequence[str]],
        *,
        decoding: Decoding = _GREEDY,
        batch_size: int = 128,
        on_batch: Callable[[int], object] | None = None,
    ) -> list[Translation]:
        """Translate sentences given as tokens, in batches of similar lengths.

        A translation does not depend on the sentences beside it, not even a sampled one: there,
        the seed and the sentence alone decide. ``on_batch`` is called after each batch with the
        number of its sentences.

        Raises:
            CourseError: as ``translate``.
        """
        if not isinstance(decoding, Decoding) or batch_size < 1:
            raise CourseError(
                "expected decoding such as Decoding('beam', width=4) and a positive batch_size, "
                f"got {decoding!r} and {batch_size}"
            )
        sources = [self._encode(tokens) for tokens in not_one_text(sentences, "sentences")]
        order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
        translations: dict[int, Translation] = {}
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            outputs = self._generate([sources[i] for i in rows], decoding)
            for i, output in zip(rows, outputs, strict=True):
                translations[i] = self._translation(sentences[i], *output)
            if on_batch:
                on_batch(len(rows))
        return [translations[i] for i in range(len(sources))]

    def attend(self, text: str) -> tuple[Translation, AttentionRecord]:
        """Translate, then run the finished translation once more and record every attention.

        Row t of ``record.cross`` is the step that generates target token t; its input is BOS and
        the tokens before. The last row is the step after the last token: the one that generates
        EOS, unless the translation was cut off. (At the model's ``max_len`` there is no such step.)
        """
        translation = self.translate(text)
        with evaluating(self.model), record_attention(self.model) as record:
            self.model(*self._teacher_forced(translation))
        return translation, record

    def next_token_probabilities(self, translation: Translation) -> Float[Tensor, "steps vocab"]:
        """What the model predicted at each step of one of its translations.

        Row t is the distribution that target token t was chosen from, given the tokens before it;
        the last row is the one that EOS was chosen from, or could have been (see ``attend``).
        """
        with evaluating(self.model):
            logits = self.model(*self._teacher_forced(translation))
        check_largest(logits.amax(dim=-1))
        return logits[0].softmax(dim=-1)

    def _teacher_forced(self, translation: Translation) -> tuple[Tensor, Tensor]:
        """The ids with which one forward pass repeats all the steps: source, decoder input."""
        longest = self.model.config.max_len
        decoder_input = self.target_vocabulary.encode([BOS, *translation.target])[:longest]
        source = _padded(self.model, [self._encode(translation.source)])
        return source, _padded(self.model, [decoder_input])

    def _generate(self, sources: list[list[int]], decoding: Decoding) -> list[Output]:
        """The translation of each source, as ids."""
        model, ids = self.model, self.target_vocabulary.ids
        source = _padded(model, sources)
        # Twice the source and some more is enough for any honest translation, and always stops.
        # Each row has its own limit, so that a translation does not depend on its neighbours.
        limits = [min(2 * len(each) + 10, model.config.max_len) for each in sources]
        if decoding.method == "beam":
            found = beam_search(
                model,
                source,
                ids[BOS],
                ids[EOS],
                limits,
                width=decoding.width,
                length_penalty=decoding.length_penalty,
            )
            return [(best.tokens, best.log_prob) for (best,) in found]
        if decoding.method == "greedy":
            output = greedy_decode(model, source, ids[BOS], ids[EOS], max(limits))
        else:
            output = sample_decode(
                model,
                source,
                ids[BOS],
                ids[EOS],
                max(limits),
                temperature=decoding.temperature,
                top_k=decoding.top_k,
                top_p=decoding.top_p,
                generator=[_generator(decoding.seed, each) for each in sources],
            )
        return [(row[:limit], None) for row, limit in zip(output.tolist(), limits, strict=True)]

    def _translation(
        self, source: Sequence[str], ids: list[int], log_prob: float | None
    ) -> Translation:
        target = self.target_vocabulary.decode(ids)
        return Translation(
            source=list(source),
            target=target,
            finished=self.target_vocabulary.ids[EOS] in ids,
            unknown=tuple(self.source_vocabulary.unknown(source)),
            text=self.target_vocabulary.join(target),
            log_prob=log_prob,
        )

    def _encode(self, tokens: Sequence[str]) -> list[int]:
        """The ids of a source sentence that the model can read."""
        if not not_one_text(tokens):
            raise CourseError("a sentence needs at least one word, got an empty one")
        if len(tokens) > self.model.config.max_len:
            raise CourseError(
                f"a sentence may have at most {self.model.config.max_len} tokens for this model, "
                f"got {len(tokens)}: split it into shorter ones"
            )
        unknown = self.source_vocabulary.unknown(tokens)
        if unknown and UNK not in self.source_vocabulary:
            known = self.source_vocabulary.tokens[1:]  # the first is the padding
            some = ", ".join(known[:8]) + ", …" * (len(known) > 8)
            raise CourseError(
                f"this model can read only its own words ({some}), got {shortened(unknown[0])}"
                + self.source_vocabulary.suggestion(unknown[0])
            )
        return self.source_vocabulary.encode(tokens)


def _padded(model: Transformer, sequences: Sequence[Sequence[int]]) -> Tensor:
    return pad_sequences(sequences, model.config.pad_id).to(model.device)


def _generator(seed: int, source: list[int]) -> torch.Generator:
    """Random numbers that belong to this sentence under this seed, whatever its batch."""
    return torch.Generator().manual_seed(random.Random(f"{seed}/{source}").getrandbits(63))
