"""Export a run of `small`, `prefix` or `modern` as a model that the course ships, with its card.

course train small --seed 0 --out runs/small
python -m tools.models.export_pretrained runs/small
"""

import sys
from pathlib import Path

from course_lib.atomic import write_atomically
from course_lib.data import load_corpus
from course_lib.errors import CourseError
from course_lib.training.evaluation import evaluate, shuffled_source_scores
from course_lib.training.runs.checkpoint import PRETRAINED, read_checkpoint
from tools.models.exporting import facts, read_run, run_export, store

TESTED = 500  # sentences of each split

CARD = """\
# {title}

German to English, for the sentences of the course's own grammar (`grammar_de_en`).
The lessons load it with `course_lib.training.load_translator({argument})`.

| | |
|---|---|
| made by | `{command} --out runs/{preset}` |
| and then | `python -m tools.models.export_pretrained runs/{preset}` |
| model | preset `{preset}`: {parameters:,} parameters, stored as 16-bit floating-point numbers |
| data | {train_size:,} pairs of `{corpus}`, drawn by `course_lib/data/grammar` |
| training | {steps:,} steps, {epochs} epochs, batches of {batch_tokens:,} tokens, in {precision} |
| vocabulary | {words} |
| licence | MIT, as the course |

{tested:,} sentences per row, greedy decoding; BLEU and chrF by sacrebleu ({signature}):

| | exact match | BLEU | chrF |
|---|---|---|---|
{rows}

**Limits.** It knows the grammar's words and nothing else; any other word becomes `<unk>`. Its
sentences are short and tidy, and its English is one of several possible translations. It was made
to be looked into, not to be relied on.
"""


TITLES = {
    "small": "The course's small translator",
    "prefix": "One stack of blocks of 2017 that translates",
    "modern": "One stack of today's blocks that translates",
}


def export(run: Path, path: Path | None = None) -> str:
    """Store the run's weights in 16 bits, and the card beside them.

    Args:
        run: the folder of a run.
        path: of the file; by default that of the shipped model with the name of the recipe.

    Returns:
        The card.

    Raises:
        CourseError: there is no such run, the course ships no model of its recipe, or ``path``
            cannot be written.
    """
    translator, info = read_run(run)
    recipe = info["recipe"]
    model = recipe["name"]
    if path is None and model not in TITLES:
        raise CourseError(f"expected a run of {', '.join(TITLES)}, got one of {model!r}")
    path = path or PRETRAINED[model]
    store(path, translator, info, bits=16)
    translator, _, _ = read_checkpoint(path)  # test what will be loaded, in 16 bits
    corpus, rows, signature = load_corpus(recipe["corpus"]), [], ""
    for split, title in (("test", "unseen"), ("compositional", "unseen combinations")):
        pairs = corpus.pairs(split, TESTED)
        for name, test in (
            (title, evaluate),
            (f"{title}, shuffled sources", shuffled_source_scores),
        ):
            scores = test(translator, pairs)
            signature = scores.signature
            rows.append(f"| {name} | {scores.exact:.1%} | {scores.bleu:.1f} | {scores.chrf:.1f} |")
    known = facts(translator, info)
    source, target = known["source_words"], known["target_words"]
    separate = f"{source:,} German words, {target:,} English, special tokens included"
    shared = f"{target:,} words of both languages, special tokens included"
    card = CARD.format(
        **known,
        title=TITLES.get(model, model),
        argument="" if model == "small" else f'model="{model}"',
        words=shared if recipe["shared_vocabulary"] else separate,
        train_size=recipe["train_size"],
        tested=TESTED,
        signature=signature,
        rows="\n".join(rows),
    )
    write_atomically(path.with_suffix(".md"), card)
    return card


def main(arguments: list[str] | None = None) -> int:
    """Export the run named on the command line; 1 if that fails."""
    return run_export(
        export, arguments, module="tools.models.export_pretrained", description=__doc__
    )


if __name__ == "__main__":
    sys.exit(main())
