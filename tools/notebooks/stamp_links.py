"""Write the repository's address and the set-up cell into README.md and all notebooks.

    python -m tools.notebooks.stamp_links    # after a change of the Repository, or of the cell

It runs nothing, so what the notebooks show stays as it is.
"""

import argparse
import re
import sys
from collections.abc import Sequence

from tools import ROOT
from tools.notebooks import released
from tools.notebooks.build_exercises import SOLUTIONS, make
from tools.notebooks.notebook_normal_form import (
    linked_path,
    normal_form,
    read,
    repository,
    to_bytes,
)

README = ROOT / "README.md"
ADDRESS = re.compile(
    r"((?:git clone |git\+)https://github\.com/|https://colab\.research\.google\.com/github/"
    r"|https://mybinder\.org/v2/gh/|https://codespaces\.new/)[\w.-]+/[\w.-]*\w"
)


def with_address(text: str, home: str) -> str:
    """A page with all its links to a repository on GitHub leading to `home`."""
    name = home.removeprefix("https://github.com/")
    return ADDRESS.sub(lambda found: found[1] + name, text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Stamp README.md, lessons, solutions and exercises; print which files changed."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.notebooks.stamp_links", description=__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.parse_args(arguments)
    home = repository()
    wanted = {README: with_address(README.read_text("utf-8"), home).encode()}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        wanted[path] = to_bytes(normal_form(read(path), path=linked_path(path), home=home))
    changed = [path for path, content in wanted.items() if path.read_bytes() != content]
    for path in changed:
        path.write_bytes(wanted[path])
        released.note(path)
    for path in sorted(SOLUTIONS.glob("*/*.ipynb")):
        changed += make(path, run=False)
    print(*(path.relative_to(ROOT) for path in changed), f"{len(changed)} files", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
