"""Translate a file: a line in, a line out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tqdm.auto import tqdm

from course_lib.decoding import Decoding, Translation, Translator

BATCH_SIZE = 128  # sentences
SORT_WINDOW = 20 * BATCH_SIZE  # sentences among which batches of similar lengths are made


def warnings_for(translator: Translator, translation: Translation) -> Iterator[str]:
    """What a reader of the translation should know: unknown words, and a missing end."""
    for word in translation.unknown:
        guess = translator.source_vocabulary.suggestion(word)
        yield f"the model does not know {word!r}{guess}"
    if not translation.finished:
        yield "cut off: the model generated no end of sentence"


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
            of lines that are truncated because they are too long for the model.
    """
    max_len, vocabulary = translator.model.config.max_len, translator.source_vocabulary
    output: list[str] = []
    with tqdm(total=len(lines), desc="translate", disable=len(lines) <= BATCH_SIZE) as bar:
        for start in range(0, len(lines), SORT_WINDOW):
            sentences = [vocabulary.split(line) for line in lines[start : start + SORT_WINDOW]]
            for number, tokens in enumerate(sentences, start=start + 1):
                if len(tokens) > max_len:
                    warn(f"line {number}: {len(tokens)} tokens, only the first {max_len} are read")
                    del tokens[max_len:]
            filled = [i for i, tokens in enumerate(sentences) if tokens]
            translations = translator.translate_all(
                [sentences[i] for i in filled], decoding=decoding, batch_size=BATCH_SIZE
            )
            texts = [""] * len(sentences)
            for i, translation in zip(filled, translations, strict=True):
                texts[i] = " ".join(str(translation).splitlines())
                for warning in warnings_for(translator, translation):
                    warn(f"line {start + i + 1}: {warning}")
            output += texts
            bar.update(len(sentences))
    return output
