"""Translate a file: a line in, a line out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tqdm.auto import tqdm

from course_lib.decoding import Decoding, Translation, Translator

TOGETHER = 128  # sentences in a batch
SORTED = 20 * TOGETHER  # sentences among which batches of like lengths are made


def doubts(translator: Translator, translation: Translation) -> Iterator[str]:
    """What a reader of the translation should know: unknown words, and a missing end."""
    for word in translation.unknown:
        guess = translator.source_vocabulary.suggestion(word)
        yield f"the model does not know {word!r}{guess}"
    if not translation.finished:
        yield "cut off: the model found no end"


def translate_lines(
    translator: Translator,
    lines: Sequence[str],
    *,
    decoding: Decoding,
    warn: Callable[[str], None],
) -> list[str]:
    """Translate each line; an empty one stays empty, so that line i belongs to line i.

    Args:
        warn: is told of words that the model does not know, of translations that were cut off, and
            of lines that are too long and are read only in part.
    """
    longest, vocabulary = translator.model.config.max_len, translator.source_vocabulary
    said: list[str] = []
    bar = tqdm(total=len(lines), desc="translate", disable=len(lines) <= TOGETHER)
    with bar:
        for start in range(0, len(lines), SORTED):
            sentences = [vocabulary.split(line) for line in lines[start : start + SORTED]]
            for number, words in enumerate(sentences, start=start + 1):
                if len(words) > longest:
                    warn(f"line {number}: {len(words)} tokens, only the first {longest} are read")
                    del words[longest:]
            kept = [i for i, words in enumerate(sentences) if words]
            translations = translator.translate_all(
                [sentences[i] for i in kept], decoding=decoding, batch_size=TOGETHER
            )
            texts = [""] * len(sentences)
            for i, translation in zip(kept, translations, strict=True):
                texts[i] = " ".join(str(translation).splitlines())
                for doubt in doubts(translator, translation):
                    warn(f"line {start + i + 1}: {doubt}")
            said += texts
            bar.update(len(sentences))
    return said
