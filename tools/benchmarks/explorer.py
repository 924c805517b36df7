"""How long the attention explorer takes to build, and from a move of its slider to new pixels."""

import tempfile
import time
from pathlib import Path
from statistics import median

import torch

from course_lib.viz.explorer.explorer import AttentionExplorer, explore_attention
from course_lib.viz.explorer.explorer_constants import VIEWS
from tools.benchmarks.page import store
from tools.benchmarks.rounds import LEAST_ROUNDS, median_and_range, table
from tools.chromium import start_chromium

SIZES = [(6, 8, 40, 40), (12, 12, 128, 128)]  # layers, heads, queries, keys
TARGET = 16  # ms: a move then takes one frame
BUILT = {(12, 12, 64, 64): 2, (6, 8, 256, 256): 6}  # seconds, at most
MEDIAN_OF_MOVES = """(layers) => {
  const slider = document.querySelector(".ae-layer"), times = [];
  const cells = document.querySelector(".ae-cells").getContext("2d");
  for (let i = 0; i < 24; i++) {
    slider.value = (i + 1) % layers;
    const began = performance.now();
    slider.dispatchEvent(new Event("input"));
    cells.getImageData(0, 0, 1, 1);
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b)[12];
}"""


def measure_explorer(_: float) -> str:
    """Every view at both sizes, and building; store the tables."""
    text = (
        "Milliseconds from a move of the layer slider to pixels that can be read back: the median "
        "of 24 moves, in headless Chromium.\n\n" + _moves() + "\n\nSeconds from the weights to "
        "the HTML of a notebook's output.\n\n" + _building()
    )
    store("Explorer of attention", text, rounds=LEAST_ROUNDS)
    return text


def _explorer(size: tuple[int, ...]) -> AttentionExplorer:
    weights = torch.randn(size, generator=torch.Generator().manual_seed(0)).softmax(-1)
    return explore_attention(weights, [f"t{i}" for i in range(size[-1])])


def _moves() -> str:
    rows = []
    with start_chromium() as browser, tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            shown = _explorer(size)
            several = {"view": "lines", "heads": range(size[1])}
            states = {view: {"view": view} for view in VIEWS} | {"lines of all heads": several}
            for name, state in states.items():
                path = Path(folder) / "explorer.html"
                shown.select(**state).save_html(path)
                page = browser.new_page(viewport={"width": 1000, "height": 900})
                page.goto(path.as_uri())
                page.wait_for_selector(".ae[data-state]", state="attached")
                medians = [page.evaluate(MEDIAN_OF_MOVES, size[0]) for _ in range(LEAST_ROUNDS + 1)]
                page.close()
                shape = " × ".join(map(str, size))
                rows.append([f"{shape}, {name}", median_and_range(medians[1:], 1), str(TARGET)])
    return table(["layers × heads × queries × keys, view", "ms", "target, at most"], rows)


def _building() -> str:
    rows = []
    for size, target in BUILT.items():
        seconds = []
        for _ in range(3):
            began = time.perf_counter()
            _explorer(size).to_html()
            seconds.append(time.perf_counter() - began)
        shape = " × ".join(map(str, size))
        rows.append([shape, f"{median(seconds):.1f}", str(target)])
    return table(["layers × heads × queries × keys", "s", "target, at most"], rows)
