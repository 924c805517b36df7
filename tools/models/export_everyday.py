"""Export a run as the course's translator of everyday German: 8-bit weights, and a model card.

course train everyday --seed 0 --out runs/everyday
python -m tools.models.export_everyday runs/everyday
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from course_lib.atomic import write_atomically
from course_lib.data import Pair, load_corpus
from course_lib.decoding import Translator, known_characters, language_evidence
from course_lib.decoding.free_text import make_readable
from course_lib.errors import CourseError
from course_lib.training import load_translator
from course_lib.training.runs.checkpoint import PRETRAINED, read_checkpoint
from tools.models.exporting import facts, read_run, run_export, score, store, translate

LENGTHS = ((1, 2), (3, 4), (5, 6), (7, None))  # words of a source, from and up to

CARD = """\
# The course's translator of everyday German

German to English, for short sentences: `course translate "Ich habe keine Zeit!"`, or in Python
`course_lib.training.load_translator(model="everyday")`.

| | |
|---|---|
| made by | `{command} --out runs/everyday` |
| and then | `python -m tools.models.export_everyday runs/everyday` |
| model | preset `{preset}`: {parameters:,} parameters; matrices in 8 bits, vectors in 16 |
| data | {train_size:,} pairs of `{corpus}` |
| training | {steps:,} steps, batches of {batch_tokens:,} tokens, in {precision} |
| vocabulary | {source_words:,} subwords (byte-level BPE), shared by both languages |
| file | {megabytes:.2f} MB |

**Data.**
- Sentences of [Tatoeba](https://tatoeba.org), as
  [manythings.org/anki](https://www.manythings.org/anki/) selects them: written and translated by
  Tatoeba's contributors, licensed [CC BY 2.0 FR](https://creativecommons.org/licenses/by/2.0/fr/).
  Names and numbers were varied for training.
- Captions of [Multi30k](https://github.com/multi30k/dataset) (Elliott et al. 2016): translations,
  by professionals, of the captions of Flickr30k (Young et al. 2014). Its README (2026) gives the
  photographs for research and education that is not commercial, and names no licence for the texts.
- The course's own phrasebook, pairs of sentences joined by a conjunction, and sentences of its
  grammar, `grammar_de_en`.

None of the sentences of others is in this file, nor in the course. The course's code is MIT. The
weights were made for teaching and research; for anything else, train without captions
(`--corpus tatoeba_de_en`), or look at the terms of the data.

**Splits.** {splits} were held out from training. Pairs of Tatoeba that share a sentence, on either
side, are in the same split, so that the model has seen neither side of a pair of `test`.

**Scores** of greedy decoding, with two standard errors; BLEU and chrF by sacrebleu
({signature}):

| | pairs | exact match | BLEU | chrF |
|---|---|---|---|---|
{rows}

By length of the source, `test`, 8 bits:

| words | pairs | exact match | BLEU | chrF |
|---|---|---|---|---|
{rows_by_length}

Before it translates, it looks whether a sentence is German: of the sources of `test` it refuses
{refused:.2%}, and of the English sides with three words and more it calls {english:.1%} English.

**Limits.** Half of the sources in training have at most {median} words, 99% at most {longest};
longer sentences lose their way. It knows everyday life and photographs, and little else: rare words
come out wrong, and fluently so. Each sentence is translated alone, so a pronoun may get the wrong
gender, and *Sie* and *du* are both *you*. What its data say of people, it may repeat. It was made
to be looked into, not to be relied on.
"""


def export(run: Path, path: Path = PRETRAINED["everyday"]) -> str:
    """Store the run's weights in 8 bits at ``path``, with what it knows of its languages.

    The card is stored beside them.

    Returns:
        The card.

    Raises:
        CourseError: there is no such run, its vocabulary is not shared, its corpus cannot be
            loaded, or ``path`` cannot be written.
    """
    trained, info = read_run(run)
    if trained.source_vocabulary is not trained.target_vocabulary:
        raise CourseError(
            "expected a run with one vocabulary for both languages, which tells them apart, got "
            "two: train with shared_vocabulary=true"
        )
    recipe = info["recipe"]
    corpus = load_corpus(recipe["corpus"])
    train = corpus.pairs("train", recipe["train_size"])
    sources, targets = _sides(train)
    trained.language_evidence = language_evidence(trained.source_vocabulary, sources, targets)
    trained.known_characters = known_characters(sources)
    store(path, trained, info, bits=8)
    stored, _, _ = read_checkpoint(path)  # test what will be loaded, in 8 bits

    pairs = corpus.pairs("test")
    sources_of_test, references = _sides(pairs)
    hypotheses = translate(stored, pairs)
    scores = score(hypotheses, references)
    rows = [
        _row("`test`, 32 bits", translate(trained, pairs), references),
        _row("`test`, 8 bits", hypotheses, references),
        _row("`test`, shuffled sources", [*hypotheses[1:], *hypotheses[:1]], references),
    ]
    small = load_translator(model="small")
    rows.append(_row("`test`, the model `small`", translate(small, pairs), references))
    others = [split for split in corpus.splits if split not in ("train", "valid", "test")]
    for split in others:
        some = corpus.pairs(split)
        rows.append(_row(f"`{split}`, 8 bits", translate(stored, some), _sides(some)[1]))
    lengths = sorted(len(source.split()) for source in sources)
    card = CARD.format(
        **facts(stored, info),
        train_size=len(train),
        megabytes=path.stat().st_size / 1e6,
        splits=", ".join(f"`{split}`" for split in corpus.splits if split != "train"),
        signature=scores.scores.signature,
        rows="\n".join(rows),
        rows_by_length="\n".join(_rows_by_length(sources_of_test, hypotheses, references)),
        refused=_share_refused(stored, sources_of_test),
        english=_share_english(stored, references),
        median=lengths[len(lengths) // 2],
        longest=lengths[99 * len(lengths) // 100],
    )
    write_atomically(path.with_suffix(".md"), card)
    return card


def _sides(pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
    return [pair.source_text for pair in pairs], [pair.target_text for pair in pairs]


def _row(name: str, hypotheses: Sequence[str], references: Sequence[str]) -> str:
    return f"| {name} | {len(references):,} | {score(hypotheses, references).row()} |"


def _rows_by_length(
    sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]
) -> list[str]:
    rows = []
    for fewest, most in LENGTHS:
        chosen = [
            i
            for i, source in enumerate(sources)
            if fewest <= len(source.split()) and (most is None or len(source.split()) <= most)
        ]
        if chosen:
            name = f"{fewest} and more" if most is None else f"{fewest} to {most}"
            some = ([texts[i] for i in chosen] for texts in (hypotheses, references))
            rows.append(_row(name, *some))
    return rows


def _share_refused(translator: Translator, sources: Sequence[str]) -> float:
    return sum(not make_readable(translator, text).tokens for text in sources) / len(sources)


def _share_english(translator: Translator, targets: Sequence[str]) -> float:
    texts = [text for text in targets if len(text.split()) >= 3]
    found = sum("english" in make_readable(translator, text).remarks for text in texts)
    return found / max(1, len(texts))


def main(arguments: list[str] | None = None) -> int:
    """Export the run named on the command line; 1 if that fails."""
    return run_export(export, arguments, module="tools.models.export_everyday", description=__doc__)


if __name__ == "__main__":
    sys.exit(main())
