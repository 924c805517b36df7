"""The scripts of a page as one file, so that a learner's machine needs no JavaScript tools.

Contributors make it again with ``python -m tools.bundles`` after a change of a script.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

BUNDLES = Path(__file__).parents[2] / "assets" / "bundles"


@cache
def bundle(name: str) -> str:
    """One minified ES module without imports.

    Args:
        name: of the bundle: "explorer", "model_diagram", "one_stack_diagram", "translator",
            "front_door", "frames", "drawings" or "quiz".
    """
    return (BUNDLES / f"{name}.js").read_text("utf-8")
