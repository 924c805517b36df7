"""Compare the translator page with PyTorch, and time it.

It opens the page of ``course translator`` in a headless Chromium without a network, translates the
same sentences there and in Python, and prints what differs. Then it slows the browser's CPU down,
as a phone's is, and prints milliseconds a sentence. Status 1: something differs.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from course_lib import cli
from course_lib.data import load_corpus
from course_lib.decoding import Decoding, Translator
from course_lib.model import record_attention
from course_lib.training import load_translator
from course_lib.training.runs.checkpoint import PRETRAINED
from tools.chromium import PATIENCE, start_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Page

TOLERANCE = 1e-4  # of a logit, in float32
UNKNOWN = "eichhörnchen"  # a word that the grammar does not have
TRANSLATE = """([texts, width]) => JSON.stringify(texts.map((text) => {
  const began = performance.now();
  const { logits, attention, ...rest } = translator.translate(text, width);
  const milliseconds = performance.now() - began;
  const heads = Object.values(attention).map((layers) => layers.map((heads) =>
    heads.map(({ data }) => [...data])));
  return { ...rest, milliseconds, logits: [...logits.data], attention: heads };
}))"""
BATCH = 25  # sentences that the browser translates in one call


@dataclass(frozen=True)
class Comparison:
    """How far the scripts are from PyTorch over some sentences.

    Attributes:
        logits, weights: the largest difference of a logit and of an attention weight.
        different: the sentences whose translation is not the same, with both translations.
        sentences: how many were compared.
    """

    logits: float
    weights: float
    different: list[tuple[str, str, str]]
    sentences: int

    @property
    def equal(self) -> bool:
        """Whether all translations are the same and all logits within the tolerance."""
        return not self.different and self.logits <= TOLERANCE


def compare(
    translator: Translator,
    texts: Sequence[str],
    results: Sequence[Mapping[str, Any]],
    *,
    decoding: Decoding,
) -> Comparison:
    """Compare what the scripts computed for some texts with PyTorch.

    The logits and weights are those of one pass over the scripts' own translation.

    Args:
        results: for each text ``text``, ``input``, ``logits`` and ``attention``, as the
            script ``TRANSLATE`` returns them.
    """
    logits, weights, different = 0.0, 0.0, []
    expected = translator.translate_texts(texts, decoding=decoding)
    for text, result, translation in zip(texts, results, expected, strict=True):
        if result["text"] != str(translation):
            different.append((text, result["text"], str(translation)))
        source = torch.tensor([translator.source_vocabulary.encode(translation.source)])
        target = torch.tensor([translator.target_vocabulary.encode(result["input"])])
        with torch.no_grad(), record_attention(translator.model) as record:
            output = translator.model(source, target)
        logits = max(logits, _largest_difference(output, result["logits"]))
        for part, heads in zip(
            (record.encoder, record.decoder, record.cross), result["attention"], strict=True
        ):
            weights = max(weights, _largest_difference(part, heads))
    return Comparison(logits, weights, different, len(texts))


def _largest_difference(expected: torch.Tensor, received: Any) -> float:
    numbers = torch.tensor(received, dtype=expected.dtype).flatten()
    return float((expected.flatten() - numbers).abs().max())


def sample_texts(count: int) -> list[str]:
    """Sentences that the model was not trained on; in every 20th a word is unknown."""
    corpus = load_corpus("grammar_de_en")
    pairs = [
        *corpus.pairs("test", count - count // 2, seed=18),
        *(corpus.pairs("compositional", count // 2, seed=18) if count > 1 else []),
    ]
    texts = [pair.source_text for pair in pairs]
    for i in range(0, count, 20):
        words = texts[i].split(" ")
        words[len(words) // 2] = UNKNOWN
        texts[i] = " ".join(words)
    return texts


def translate_in_page(page: Page, texts: Sequence[str], *, width: int) -> list[dict[str, Any]]:
    """What the page computes for each text; width 0 is greedy decoding."""
    results: list[dict[str, Any]] = []
    for start in range(0, len(texts), BATCH):
        results += json.loads(page.evaluate(TRANSLATE, [list(texts[start : start + BATCH]), width]))
    return results


@contextlib.contextmanager
def translator_page(
    folder: Path, name: str, *, slowdown: float = 1
) -> Iterator[tuple[Page, float]]:
    """The page of ``course translator``, opened without a network, and the seconds until it had
    translated its first sentence.

    Args:
        folder: where the page is written.
        name: of the model.
        slowdown: how many times slower the CPU is to be.
    """
    with contextlib.redirect_stdout(io.StringIO()):
        cli.main(["translator", "--model", name, "--no-browser", "--output", str(folder)])
    with start_chromium() as browser, browser.new_context(offline=True) as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        session = context.new_cdp_session(page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
        try:
            began = time.perf_counter()
            page.goto((folder / "translator.html").resolve().as_uri())
            page.wait_for_selector("body[data-runs]")
            yield page, time.perf_counter() - began
        finally:  # slowing down keeps a processor busy, and may outlive the page
            session.send("Emulation.setCPUThrottlingRate", {"rate": 1})


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the comparison and the times; 1 if something differs."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.models.compare_translator", description=__doc__
    )
    parser.add_argument(
        "--model", choices=sorted(PRETRAINED), default="small", help="of the page (default: small)"
    )
    parser.add_argument(
        "--texts", type=Path, metavar="FILE", help="a sentence a line (default: of the grammar)"
    )
    parser.add_argument("--sentences", type=int, default=1000, help="to compare (default: 1000)")
    parser.add_argument("--timed", type=int, default=100, help="to time (default: 100)")
    parser.add_argument("--slowdown", type=float, default=4, help="of the CPU (default: 4)")
    options = parser.parse_args(arguments)
    translator = load_translator(model=options.model)
    texts = sample_texts(options.sentences)
    if options.texts:
        texts = options.texts.read_text("utf-8").splitlines()[: options.sentences]
    methods = {0: Decoding(), 4: Decoding("beam", width=4)}
    comparisons = []
    with tempfile.TemporaryDirectory() as name:
        with translator_page(Path(name), options.model) as (page, _):
            for width, decoding in methods.items():
                results = translate_in_page(page, texts, width=width)
                found = compare(translator, texts, results, decoding=decoding)
                comparisons.append(found)
                print(report(found, decoding), flush=True)
        size = (Path(name) / "translator.html").stat().st_size / 1e6
        with translator_page(Path(name), options.model, slowdown=options.slowdown) as (
            page,
            seconds,
        ):
            slow = f"with a CPU {options.slowdown:g} times slower"
            print(f"page: {size:.2f} MB, first translation after {seconds:.1f} s {slow}")
            for width, decoding in methods.items():
                results = translate_in_page(page, texts[: options.timed], width=width)
                times = [result["milliseconds"] for result in results]
                print(
                    f"{decoding.method}: {statistics.median(times):.0f} ms a sentence, at most "
                    f"{max(times):.0f} ms, {len(times)} sentences {slow}"
                )
    return 0 if all(found.equal for found in comparisons) else 1


def report(found: Comparison, decoding: Decoding) -> str:
    """The comparison in a line, and three more for each translation that differs."""
    same = found.sentences - len(found.different)
    lines = [
        f"{decoding.method}: {same} of {found.sentences} translations equal; largest difference of "
        f"a logit {found.logits:.1e}, of an attention weight {found.weights:.1e}"
    ]
    lines += [f"  {text}\n    page:   {a}\n    Python: {b}" for text, a, b in found.different]
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
