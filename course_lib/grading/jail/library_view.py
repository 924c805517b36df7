"""The ``course_lib`` that a learner's code may import while one of its items is graded.

It is a copy of the library in which whatever the item asks for is replaced by a stub that raises an
ImportError: the reference, and all that has the name of the item or of the learner's function. What
the library builds on it still imports, and fails with that message when it is called. Replacing
definitions rather than modules matters: Transformer and Encoder share a module, and an exercise
may ask for the one and hand out the other.

``checks`` is left out, since items hold references and misconceptions, except for what makes a call
(`ENGINE`) and the item's own ``use`` function. That one stands in an item's module between the
reference and the misconceptions, so its part of the source is cut out (see ``source_slice``);
a file of its own for it would put every item in two files, and sending code over the pipe would
need a format for code.
"""

from __future__ import annotations

import ast
import hashlib
import os
import py_compile
import shutil
import subprocess
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.grading.jail.source_slice import course_imports, slice_source

if TYPE_CHECKING:
    from course_lib.checks.engine.item import Item

LIBRARY = Path(__file__).parents[2]
ENGINE = "checks/engine"  # makes the calls, in a notebook and in the jail
INSIDE = "grading/jail/inside"  # started in the jail
_PACKAGES = ("data", "decoding", "model", "modern", "training", "viz")
# Of the parts of one's own: there is no copy of the course in the jail, so all are the course's.
_MINE = ("mine/__init__", "mine/parts", "mine/stacks")
_MODULES = (
    *_MINE,
    "__init__",
    "alignment_error_rate",
    "arguments",
    "atomic",
    "errors",
    "home",
    "lesson",
    "run_options",
    "terminal",
    "widget_output",
    "wording",
)
_ITEMS = "course_lib.checks.items."
# Definitions under another name that are right answers as they are, or with what is missing filled
# in; a test looks for more of them.
_LOSSES = {"projected_loss", "loss_and_gradient", "_ProjectedLoss"}
_RIGHT_AS_IT_IS = {
    "04.scaled_dot_product_attention": {"attention_einsum"},
    "04.bug": {"MultiHeadAttention"},
    "05.attention_einsum": {"attention_matmul"},
    "07.decoder_block": {"_DecoderBlock"},
    "08.count_parameters": {"parameter_parts"},
    "08.transformer": {"new_model"},
    "09.collate": {"pad_sequences"},
    "10.masked_cross_entropy": {"label_smoothed_loss", *_LOSSES},
    "11.label_smoothed_loss": _LOSSES,
    "17.count_parameters": {"parameter_parts", "active_parameters"},
    "17.bug": {"pairs_in_halves"},
}
_CHECKS = '''\
"""What stands for the checks while an answer is graded: they are made elsewhere, afterwards."""


class NotChecked:
    """What ``check`` returns here."""

    passed, points, misconception, example = False, 0, None, None

    def __repr__(self):
        return "checks are made after this, by the grader"


def check(item_id, subject, line=None, *, seed=0, conventions=()):
    """Do nothing."""
    return NotChecked()


def load_item(item_id, conventions=()):
    """Raise an error: an item has the answer."""
    raise ImportError("items are not available while an answer is graded")


class NotInGrading(Exception):
    """What an exercise lets one look at is called where there is no more to look at."""


def _not_here(*args, **kwargs):
    raise NotInGrading(
        "expected an answer with what you found written into it, and this makes a run or calls a "
        "version or a box, which grading does not do"
    )


def versions(item_id):
    """Of what test cases are about: they are called outside, with the cases."""
    return dict.fromkeys("abcdef", _not_here)


def black_box(item_id, *, number):
    """What an experiment is about: it is called outside."""
    return _not_here


def compare_answer(item_id, answer=None, *, points=None):
    """Do nothing."""


class _NoOutcome:
    def __getitem__(self, name):
        _not_here()


def make_run(item_id, *, number):
    """What questions are about: it is run outside."""
    return _NoOutcome()


Progress = NotChecked
'''
_CHAIN = '''\
"""What stands for the last cells of exercises, which train and translate: grading does neither."""


def compare_with_course():
    """Do nothing."""


class _NoRun:
    rows = translations = ()


def hand_in_run(run=None):
    """Nothing of a run: its files are read outside."""
    return _NoRun()


overfit_two_sentences = translate = read_heads = lambda *args, **kwargs: None
'''
Files = Mapping[str, str]  # from paths in the library to sources


def withheld_names(item: Item, subject: str) -> set[str]:
    """The names of the library's definitions that this item asks a learner to write."""
    named = {item.reference.__name__, item.id.split(".")[1], subject}
    return named | _RIGHT_AS_IT_IS.get(item.id, set())


def engine_files() -> dict[str, str]:
    """What the process in the jail runs on; nothing in it depends on the item."""
    paths = [Path("__init__.py"), Path("errors.py")]
    for package in (ENGINE, INSIDE):
        paths += [path.relative_to(LIBRARY) for path in sorted((LIBRARY / package).glob("*.py"))]
    files = {str(path): _source(path) for path in paths}
    files["checks/__init__.py"] = _CHECKS
    for package in ("checks/items", "grading", "grading/jail"):
        files[f"{package}/__init__.py"] = ""
    return files


@cache
def view_files(item_id: str, subject: str) -> Files:
    """The files of the library for one item.

    Args:
        item_id: such as "06.padding_mask".
        subject: the name of the function or class that the exercise asks for.

    Raises:
        CourseError: there is no such item.
    """
    from course_lib.checks import load_item  # loads PyTorch, which engine_files() does not need

    item = load_item(item_id)
    names = withheld_names(item, subject)
    files = engine_files()
    for path in _library_paths():
        source = _source(path)
        files[str(path)] = stub_definitions(source, names) if _may_define(source, names) else source
    files["mine/chain.py"] = _CHAIN
    return files | use_files(item)


@cache
def _library_paths() -> tuple[Path, ...]:
    inside = (path for package in _PACKAGES for path in (LIBRARY / package).rglob("*.py"))
    return *(Path(f"{name}.py") for name in _MODULES), *(p.relative_to(LIBRARY) for p in inside)


@cache
def _source(path: Path) -> str:
    return (LIBRARY / path).read_text(encoding="utf-8")


def _may_define(source: str, names: Collection[str]) -> bool:
    return any(f"def {name}" in source or f"class {name}" in source for name in names)


def stub_definitions(source: str, names: Collection[str]) -> str:
    """The source of a module with stubs in place of its definitions of these names."""
    module = ast.parse(source)
    module.body = [
        _stub(node)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in names
        else node
        for node in module.body
    ]
    return ast.unparse(module) + "\n"


def _stub(node: ast.FunctionDef | ast.ClassDef) -> ast.stmt:
    message = (
        f"{node.name} is what this exercise asks you to write, so the course's own is not "
        "available while your answer is graded: use yours"
    )
    function = f"def {node.name}(*args, **kwargs):\n    raise ImportError({message!r})"
    if isinstance(node, ast.FunctionDef):
        return ast.parse(function).body[0]
    bases = ", ".join(map(ast.unparse, node.bases))
    method = function.replace(node.name, "__init__", 1).replace("\n", "\n    ")
    return ast.parse(f"class {node.name}({bases}):\n    {method}").body[0]


def use_files(item: Item) -> dict[str, str]:
    """The modules with the item's ``use`` function and what that needs of other items' modules."""
    wanted = {item.use.__module__: {item.use.__name__}}
    files: dict[str, str] = {}
    done: dict[str, set[str]] = {}
    while wanted:
        module, names = wanted.popitem()
        names |= done.get(module, set())
        if not module.startswith(_ITEMS) or names == done.get(module):
            continue
        done[module] = names
        path = Path(*module.split(".")[1:]).with_suffix(".py")
        source = slice_source(_source(path), names)
        files[str(path)] = source
        files[str(path.with_name("__init__.py"))] = ""
        for imported, more in course_imports(source).items():
            wanted.setdefault(imported, set()).update(more)
    return files


def link_assets(folder: Path, store: Path) -> None:
    """Put what modules read beside them, styles, scripts and weights, into a library.

    No item's answer is in them: they hold no Python, and what is trained is another model than any
    item makes. They are copied once, into the folder ``store``, and linked from there.
    """
    copies = store / "assets"
    if not copies.exists():
        for path in _released_assets():
            copy = copies / path.relative_to(LIBRARY / "assets")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)  # without its mode: the clone may be closed to others
    shutil.copytree(copies, folder / "course_lib" / "assets", copy_function=os.link)


def _released_assets() -> list[Path]:
    """Those that git has; all where it can't say, as in an installed package."""
    root, names = LIBRARY.parent, b""
    if (root / ".git").exists():
        command = ["git", "-C", str(root), "ls-files", "-z", "--", "course_lib/assets"]
        with suppress(OSError, subprocess.SubprocessError):
            names = subprocess.run(command, capture_output=True, check=True, timeout=20).stdout
    known = [root / name for name in os.fsdecode(names).split("\0") if name]
    return [path for path in known or (LIBRARY / "assets").rglob("*") if path.is_file()]


def write_files(files: Files, folder: Path, store: Path) -> None:
    """Write a library into a folder, as ``folder/course_lib``.

    Libraries differ in a few files, so each content is written and compiled once, in the folder
    ``store``, and linked from there.
    """
    store.mkdir(exist_ok=True)
    for name, source in files.items():
        data = source.encode()
        content, path = store / hashlib.sha256(data).hexdigest(), folder / "course_lib" / name
        if not content.exists():
            content.write_bytes(data)
        path.parent.mkdir(parents=True, exist_ok=True)
        os.link(content, path)
        if path.suffix == ".py":
            _link_bytecode(content, path)


def _link_bytecode(content: Path, path: Path) -> None:
    """Spare each process in the jail, which can't write, the time to compile what it imports."""
    compiled, cached = content.with_suffix(".pyc"), Path(cache_from_source(str(path)))
    if not compiled.exists():
        unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(str(content), str(compiled), doraise=True, invalidation_mode=unchecked)
    cached.parent.mkdir(exist_ok=True)
    os.link(compiled, cached)
