"""A model and its two vocabularies together: text in, text out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from course_lib.data import EOS, SOS, UNK, Vocabulary, join_words, pad_sequences, split_words
from course_lib.decoding.greedy import evaluating, greedy_decode
from course_lib.errors import CourseError
from course_lib.model import AttentionRecord, Transformer, record_attention


@dataclass(frozen=True)
class Translation:
    """What was read and what was said.

    ``finished`` is False if the model had not said ``<eos>`` when its time was up; ``unknown``
    lists the source words that it read as ``<unk>``.
    """

    source: list[str]
    target: list[str]
    finished: bool = True
    unknown: tuple[str, ...] = ()

    def __str__(self) -> str:
        return join_words(self.target)


class Translator:
    """Translates words with a model and the vocabularies it was trained with.

    Args:
        model: maps source ids to target ids.
        source_vocabulary, target_vocabulary: of the sizes that the model was built for.

    Raises:
        CourseError: model and vocabularies do not belong together.
    """

    def __init__(
        self, model: Transformer, source_vocabulary: Vocabulary, target_vocabulary: Vocabulary
    ) -> None:
        sizes = len(source_vocabulary), len(target_vocabulary)
        expected = model.config.source_vocab, model.config.target_vocab
        if sizes != expected:
            raise CourseError(
                f"the model expects vocabularies of {expected[0]} and {expected[1]} words, got "
                f"{sizes[0]} and {sizes[1]}: do they come from another run?"
            )
        self.model = model
        self.source_vocabulary = source_vocabulary
        self.target_vocabulary = target_vocabulary

    def translate(self, text: str) -> Translation:
        """Translate one sentence, typed as one likes: capitals and spacing do not matter.

        Raises:
            CourseError: the sentence is empty, too long, or has a word that cannot be read.
        """
        return self.translate_all([split_words(text)])[0]

    def translate_all(
        self, sentences: Sequence[Sequence[str]], *, batch_size: int = 128
    ) -> list[Translation]:
        """Translate sentences given as words, greedily, in batches of like lengths.

        Raises:
            CourseError: as ``translate``.
        """
        sources = [self._encode(words) for words in sentences]
        order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
        translations: dict[int, Translation] = {}
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            said = self._decode([sources[i] for i in rows])
            for i, ids in zip(rows, said, strict=True):
                translations[i] = Translation(
                    source=list(sentences[i]),
                    target=self.target_vocabulary.decode(ids),
                    finished=self.target_vocabulary.ids[EOS] in ids,
                    unknown=tuple(self.source_vocabulary.unknown(sentences[i])),
                )
        return [translations[i] for i in range(len(sources))]

    def attend(self, text: str) -> tuple[Translation, AttentionRecord]:
        """Translate, then run the finished translation once more and record every attention.

        Row t of ``record.cross`` is the step that says target word t (the last one says
        ``<eos>``): it has read ``<sos>`` and the words before.
        """
        translation = self.translate(text)
        source = self._tensor([self._encode(translation.source)])
        said = [SOS, *translation.target]
        target = self._tensor([self.target_vocabulary.encode(said)])
        with evaluating(self.model), record_attention(self.model) as record:
            self.model(source, target)
        return translation, record

    def _decode(self, sources: list[list[int]]) -> list[list[int]]:
        # Twice the source and some more is enough for any honest translation, and always stops.
        # Each row has its own limit, so that a translation does not depend on its neighbours.
        limits = [min(2 * len(source) + 10, self.model.config.max_len) for source in sources]
        ids = self.target_vocabulary.ids
        said = greedy_decode(
            self.model, self._tensor(sources), ids[SOS], ids[EOS], max_len=max(limits)
        ).tolist()
        return [row[:limit] for row, limit in zip(said, limits, strict=True)]

    def _encode(self, words: Sequence[str]) -> list[int]:
        if not words:
            raise CourseError("a sentence needs at least one word, got an empty one")
        if len(words) > self.model.config.max_len:
            raise CourseError(
                f"a sentence may have at most {self.model.config.max_len} words for this model, "
                f"got {len(words)}: translate it in shorter pieces"
            )
        unknown = self.source_vocabulary.unknown(words)
        if unknown and UNK not in self.source_vocabulary:
            known = ", ".join(self.source_vocabulary.words[1:9])
            raise CourseError(
                f"this model can read only its own words ({known}, …), got {unknown[0]!r}"
                + self.source_vocabulary.suggestion(unknown[0])
            )
        return self.source_vocabulary.encode(words)

    def _tensor(self, sequences: Sequence[Sequence[int]]) -> Tensor:
        padded = pad_sequences(sequences, self.model.config.pad_id)
        return padded.to(self.model.device)
