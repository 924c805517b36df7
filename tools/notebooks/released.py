"""Write the checksums of all lessons and exercises, which `course lab` trusts by them.

    python -m tools.notebooks.released    # after a merge; what makes notebooks does so by itself

A test compares the list with the notebooks.
"""

import sys
from pathlib import Path

from course_lib.work_copy.trust import RELEASED, sha256
from tools import ROOT


def notebooks() -> list[Path]:
    """The lessons and exercises of this repository."""
    return sorted([*ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("exercises/*/*.ipynb")])


def checksums() -> str:
    """A line for each, as sha256sum writes it."""
    return "".join(f"{sha256(path)}  {path.relative_to(ROOT).as_posix()}\n" for path in notebooks())


def note(path: Path) -> None:
    """Write the list anew if this file, which was written, is in it."""
    if path.resolve() in notebooks():
        main()


def main() -> int:
    """Write the list."""
    RELEASED.write_text(checksums(), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
