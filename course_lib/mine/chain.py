"""What a Transformer of your parts can do so far: exercises call these, and grading does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from course_lib.alignment_error_rate import alignment_error_rate
from course_lib.data import BOS, EOS, Batch, EncodedPair, load_corpus
from course_lib.data.vocabulary import Vocabulary
from course_lib.decoding import Translator, evaluating
from course_lib.mine.join import own_transformer
from course_lib.mine.library import Library
from course_lib.mine.page import own_model, translate_with_own
from course_lib.mine.parts import PARTS, WORK_MARK, own_library, using
from course_lib.mine.trial import try_part
from course_lib.model import preset
from course_lib.run_options import HANDED_IN
from course_lib.terminal import say
from course_lib.training import RECIPES, load_translator
from course_lib.training.evaluation import cross_weights
from course_lib.training.runs.handed_in_run import (
    NUMBERS,
    hand_in,
    read_handed_in_run,
    sentences,
)
from course_lib.training.runs.run import Epoch

SEED = 0
STEPS = 60  # on the batch of two sentences


def parts_in_use() -> Library:
    """The parts of this copy of the course; anywhere else, the course's."""
    return own_library() or Library({}, ())


def compare_with_course() -> None:
    """Put all your parts into one Transformer, and compare it with the course's on its weights."""
    library = parts_in_use()
    say(_whose(library))
    finding = try_part(library)
    if finding is None:
        say("On the course's weights, it gives the course's logits and gradients.")
    else:
        say(f"All of them together: {finding.sentence}. {finding.call}".strip())
        say("`course mine` in a terminal tries each of them alone.")


def overfit_two_sentences(steps: int = STEPS) -> None:
    """Train a Transformer of your parts on the two sentences of lesson 10, and translate them."""
    library = parts_in_use()
    say(_whose(library))
    pairs = load_corpus("two_sentences").pairs("train", None)
    source = Vocabulary.from_sentences([pair.source for pair in pairs])
    target = Vocabulary.from_sentences([pair.target for pair in pairs])
    ids = target.ids
    encoded = [
        EncodedPair(source.encode(p.source), [ids[BOS], *target.encode(p.target), ids[EOS]])
        for p in pairs
    ]
    config = preset(
        "small", source_vocab=len(source), target_vocab=len(target), **RECIPES["mine"].model
    )
    with using(library):
        torch.manual_seed(SEED)
        model = own_transformer(config, library)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        batch = Batch(*library.part("collate")(encoded, config.pad_id))
        step = library.part("train_step")
        losses = [step(model.train(), batch, optimizer, config.pad_id) for _ in range(steps)]
    say(f"Loss per token: {losses[0]:.1f} at first, {losses[-1]:.2f} after {steps} steps.")
    found = translate_with_own(model, batch.source, ids[BOS], ids[EOS], library=library)
    for pair, row in zip(pairs, found.tolist(), strict=True):
        words = [target.tokens[i] for i in row if i not in (config.pad_id, ids[EOS])]
        say(f"{pair.source_text} → {' '.join(words)}")


@dataclass(frozen=True, kw_only=True)
class ShownRun:
    """A run as its owner sees it.

    Attributes:
        rows: of its log, by name: step, loss, valid_loss and valid_exact.
        translations: the source, the reference and your model's translation of 100 sentences.
    """

    rows: list[Epoch] = field(default_factory=list)
    translations: list[tuple[str, str, str]] = field(default_factory=list)


def hand_in_run(run: Path | None = None) -> ShownRun:
    """Copy your run's log and weights into ``own_run`` beside this notebook, and show them.

    Without a run, it says how to make one.

    Raises:
        CourseError: the run has come to no validation yet, or a file of it is damaged.
    """
    folder, source = Path(HANDED_IN), run or default_run()
    if source is not None and source.exists():
        hand_in(source, folder)
        say(f"Copied from {source} to {folder}: hand that folder in together with this notebook.")
    elif not folder.exists():
        say("There is no run of yours yet: `course train mine` in a terminal trains one.")
        return ShownRun()
    found = read_handed_in_run(folder)
    say("".join(f"{name:>13}" for name in NUMBERS))
    for row in found.rows:
        say("".join(f"{row[name]:13.{3 if name != 'step' else 0}f}" for name in NUMBERS))
    shown = [
        (pair.source_text, pair.target_text, translation)
        for pair, translation in zip(sentences(), found.translations, strict=True)
    ]
    say(f"own.translations has {len(shown)} sentences: source, reference, translation.")
    return ShownRun(rows=list(found.rows), translations=shown)


def translate(text: str, run: Path | None = None, *, width: int = 4) -> None:
    """Translate with the weights of your run and your own searches, greedy and beam.

    Without a run, it says how to make one.

    Raises:
        CourseError: the run is of another form than your parts compute.
    """
    if (translator := _translator_of(run)) is None:
        return
    library = parts_in_use()
    own = own_model(translator, library)
    source, ids = translator.source_vocabulary, translator.target_vocabulary.ids
    tokens = torch.tensor([source.encode(source.split(text))])
    found = translate_with_own(own, tokens, ids[BOS], ids[EOS], library=library)[0].tolist()
    say(f"greedy: {_text(translator, found)}")
    with using(library), torch.no_grad(), evaluating(own):
        beam = library.part("beam_search")
        best, score = beam(own, tokens, ids[BOS], ids[EOS], width, 40, 0.6)
    say(f"beam of {width}: {_text(translator, list(best))} (score {score:.2f})")


def read_heads(run: Path | None = None, *, sentences: int = 50) -> None:
    """The alignment error rate of each cross-attention head of your run, by your ``align``.

    Without a run, it says how to make one.
    """
    if (translator := _translator_of(run)) is None:
        return
    align = parts_in_use().part("align")
    pairs = load_corpus("grammar_de_en").pairs("test", sentences)
    gold: set[tuple[int, int, int]] = set()
    found: dict[tuple[int, int], set[tuple[int, int, int]]] = {}
    for number, pair in enumerate(pairs):
        gold |= {(number, s, t) for s, t in pair.alignment}
        aligned = {t for _, t in pair.alignment}
        for layer, weights in enumerate(cross_weights(translator, pair)):
            for head, of_head in enumerate(weights):
                kept = {(number, s, t) for s, t in align(of_head) if t in aligned}
                found.setdefault((layer, head), set()).update(kept)
    say(f"Alignment error rate on {sentences} sentences; 0 is best, and heads count from 0:")
    for (layer, head), links in found.items():
        say(f"  layer {layer}, head {head}: {alignment_error_rate(links, gold):.2f}")


def _whose(library: Library) -> str:
    own = [name for name in PARTS if library.is_own(name)]
    if not own:
        return "All parts are the course's: none of yours has passed yet, or this is no copy of it."
    return f"Of {len(PARTS)} parts {len(own)} are yours: {', '.join(own)}."


def _translator_of(run: Path | None) -> Translator | None:
    """The translator of a run; None, after a word on it, where there is none yet."""
    folder = run or default_run()
    if folder is None or not folder.exists():
        say("There is no run of yours yet: `course train mine` in a terminal trains one.")
        return None
    return load_translator(folder)


def default_run(seed: int = SEED) -> Path | None:
    """Where ``course train mine`` puts a run; None without a copy of the course."""
    from course_lib.mine.collect import FOLDER
    from course_lib.work_copy.folders import work_folder

    work = work_folder()
    return work / FOLDER / f"run-seed{seed}" if (work / WORK_MARK).is_dir() else None


def _text(translator: Translator, tokens: list[int]) -> str:
    vocabulary: Any = translator.target_vocabulary
    special = {0, vocabulary.ids[BOS], vocabulary.ids[EOS]}
    return " ".join(vocabulary.tokens[i] for i in tokens if i not in special)
