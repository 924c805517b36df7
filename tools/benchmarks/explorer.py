"""How long the attention explorer takes from a move of its slider to new pixels."""

import tempfile
from pathlib import Path

import torch

from course_lib.viz.explorer import explore_attention
from course_lib.viz.explorer_constants import VIEWS
from tools.benchmarks.page import store
from tools.benchmarks.rounds import LEAST_ROUNDS, median_and_range, table
from tools.chromium import start_chromium

TARGETS = {(6, 8, 40, 40): 16, (12, 12, 128, 128): 50}  # layers, heads, queries, keys: ms
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
    """Every view at both sizes; store the table."""
    rows = []
    with start_chromium() as browser, tempfile.TemporaryDirectory() as folder:
        for size, target in TARGETS.items():
            weights = torch.randn(size, generator=torch.Generator().manual_seed(0)).softmax(-1)
            tokens = [f"t{i}" for i in range(size[-1])]
            for view in VIEWS:
                path = Path(folder) / "explorer.html"
                explore_attention(weights, tokens).select(view=view).save_html(path)
                page = browser.new_page(viewport={"width": 1000, "height": 900})
                page.goto(path.as_uri())
                page.wait_for_selector(".ae[data-state]", state="attached")
                medians = [page.evaluate(MEDIAN_OF_MOVES, size[0]) for _ in range(LEAST_ROUNDS + 1)]
                page.close()
                shape = " × ".join(map(str, size))
                rows.append([f"{shape}, {view}", median_and_range(medians[1:], 1), str(target)])
    text = (
        "Milliseconds from a move of the layer slider to pixels that can be read back: the median "
        "of 24 moves, in headless Chromium.\n\n"
        + table(["layers × heads × queries × keys, view", "ms", "target, at most"], rows)
    )
    store("Explorer of attention", text, rounds=LEAST_ROUNDS)
    return text
