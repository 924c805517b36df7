"""What Python and the browser must agree on in the attention explorer. Both read one JSON file."""

import json
from pathlib import Path
from typing import Any

ASSETS = Path(__file__).parents[2] / "assets" / "explorer"
_CONSTANTS: dict[str, Any] = json.loads((ASSETS / "constants.json").read_text("utf-8"))

MEAN: int = _CONSTANTS["mean"]  # the head number that stands for the mean of all heads
QUANTISATION_LEVELS: int = _CONSTANTS["quantisationLevels"]  # see `explorer_pack.pack`
KINDS: dict[str, str] = _CONSTANTS["kinds"]  # and what readers see
# Of two sentences in one sequence, A and B, whose queries and whose keys are shown; in words.
SENTENCES: dict[str, str] = {key: each["name"] for key, each in _CONSTANTS["sentences"].items()}
ALL = "all"  # of SENTENCES
VIEWS: tuple[str, ...] = tuple(_CONSTANTS["views"])
STEPS: tuple[str, ...] = tuple(_CONSTANTS["steps"])  # from scores to weights
PALETTES: dict[str, str] = _CONSTANTS["palettes"]  # colours from the lowest value to the highest
START: dict[str, Any] = _CONSTANTS["start"]  # what is shown first: see `explorer_state`
