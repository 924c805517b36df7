"""Parts of messages: text that others wrote, the command that installs, the name that was meant, a
power of ten.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from course_lib.errors import DISTRIBUTION

# What a terminal obeys (a tab aside), what ends a line, half characters, and what overrides the
# direction of writing. Marks that only embed words of another script occur in honest sentences.
_OBEYED = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202d\u202e\u2066-\u2069\ud800-\udfff]"
)
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def shown(text: str) -> str:
    """Text that may be somebody else's, as part of a line: what a terminal obeys, by its code."""
    return _OBEYED.sub(lambda found: ascii(found[0])[1:-1], text)


def well_formed(text: str) -> str:
    """The text with U+FFFD for half a surrogate pair, as of an emoji that was cut in two.

    No file can hold such a half. It comes from JSON and from arguments that are not UTF-8.
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def pip_install(*arguments: str, extra: str = "") -> str:
    """The command that installs packages for this Python, which the ``pip`` of a shell may not do.
    In a clone it keeps to the versions that the course is tested with.

    Args:
        arguments: of pip, such as "torch>=2.6".
        extra: of the course, to be installed instead, such as "lab".
    """
    root = Path(__file__).resolve().parents[1]
    clone = (root / "constraints.txt").is_file()
    if extra:
        arguments = ("-e", f"{root}[{extra}]") if clone else (f"{DISTRIBUTION}[{extra}]",)
    if clone:
        arguments = ("-c", str(root / "constraints.txt"), *arguments)
    return run_python("-m", "pip", "install", *arguments)


def run_python(*arguments: str) -> str:
    """The command that runs this Python, by its short name where a shell finds it under that."""
    python = sys.executable or "python"
    command = ["python" if shutil.which("python") == python else python, *arguments]
    line = " ".join(f'"{each}"' if re.search(r"[^-\w./\\:]", each) else each for each in command)
    return f"& {line}" if os.name == "nt" and line[0] == '"' else line  # or PowerShell only prints


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about a name: which known one is most like it, "" if none is."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f": did you mean {close[0]}?" if close else ""


def power_of_ten(exponent: int) -> str:
    """As it is written: 10⁻⁶."""
    return f"10{str(exponent).translate(_SUPERSCRIPTS)}"
