"""Commands of a notebook that an answer may depend on, as Python: the jail drops all others.

The source is read as text: nothing is parsed or executed.
"""

from __future__ import annotations

import re

# Cells in another language, or of another process: nothing of them is defined in the notebook.
_NO_PYTHON = frozenset(
    "bash sh script cmd perl ruby python python2 python3 pypy html HTML javascript js "
    "latex markdown svg SVG sql R cython".split()
)
_CELL_MAGIC = re.compile(r"(\s*)%%(\w+)([^\n]*)(?:\n(.*))?", re.DOTALL)
_TIMED = re.compile(r"^([ \t]*(?:\w[\w., ]*=[ \t]*)?)%time[ \t]+(?=\S)", re.MULTILINE)
# In the jail, the name is there, and what IPython has is None.
_GET_IPYTHON = re.compile(
    r"^([ \t]*)from IPython(?:\.core\.getipython)? import get_ipython[ \t]*$", re.MULTILINE
)


def without_commands(source: str) -> str:
    """A cell without the commands that would hide what it defines; its lines keep their numbers.

    ``%%writefile`` becomes a call that writes the file, and the code behind ``%time`` runs.
    """
    if "%" not in source and "get_ipython" not in source:
        return source
    if found := _CELL_MAGIC.fullmatch(source):
        above, name, rest, body = found.groups(default="")
        if name in ("writefile", "file") and (words := rest.split()):
            mode = "a" if {"-a", "--append"} & {*words[:-1]} else "w"
            file = words[-1].strip("'\"")
            return f"{above}open({file!r}, {mode!r}).write({body!r})"
        body = "" if name in _NO_PYTHON else body
        source = f"{above}pass\n{body}"
    return _GET_IPYTHON.sub(r"\1pass", _TIMED.sub(r"\1", source))
