"""Joins ES modules into one, in Python: a learner's machine needs no JavaScript tools.

Not a general bundler. It knows a small part of the language and refuses everything else, so that
it cannot change what a script means. The joined modules share one scope, so no two of them may
define the same name at the top level. It expects

- imports like ``import { a, b } from "./file.js";`` or ``from "../folder/file.js";``, and
  ``import data from "./file.json" with { type: "json" };``;
- functions, classes, ``const`` and ``let`` with one name at the top level, with or without
  ``export``, and ``export default {`` in the entry module;
- indented lines inside these, in comments and in template literals, so that the start of a line
  shows whether it is at the top level.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import rjsmin

_IMPORT = re.compile(
    r'^import \{(?P<names>[^{}]*)\} from "(?P<file>\.(?:\./[\w-]+)?/[\w-]+\.js)";$'
    r'|^import (?P<data>\w+) from "\./(?P<json>[\w-]+\.json)" with \{ type: "json" \};$',
    re.MULTILINE,
)
_DECLARATION = re.compile(
    r"(?P<export>export )?(?:(?:async )?function |class |const |let )(?P<name>\w+)(?:\(| =| \{|;)"
)
_TOP_LEVEL = re.compile(r"(?!//|/\*)[^\s)}\]]")


@dataclass(frozen=True, kw_only=True)
class _Module:
    imports: dict[Path, list[str]]  # file → names
    defined: list[str]
    exported: list[str]
    code: str  # without imports


def bundle_modules(entry: Path) -> str:
    """The entry module and all that it imports as one minified ES module with its exports.

    Args:
        entry: a file; the modules that are imported are in its folder or in one beside it, and
            JSON files in the folder of the module that imports them.

    Raises:
        ValueError: modules that import each other, a name that two of them define, an imported
            name that is not exported, or a line in a form that this bundler does not know.
    """
    modules: dict[Path, _Module] = {}
    waiting = [entry.resolve()]
    while waiting:
        path = waiting.pop()
        if path not in modules:
            modules[path] = _read(path, is_entry=path == entry.resolve())
            waiting += modules[path].imports
    _check_names(modules)
    try:
        order = [*TopologicalSorter({p: m.imports for p, m in modules.items()}).static_order()]
    except CycleError as error:
        circle = " imports ".join(path.name for path in reversed(error.args[1]))
        raise ValueError(
            f"modules must not import each other, got {circle}: move what they share to a third one"
        ) from None
    return str(rjsmin.jsmin("".join(modules[path].code for path in order)))


def _read(path: Path, *, is_entry: bool) -> _Module:
    imports: dict[Path, list[str]] = {}

    def take_out(statement: re.Match[str]) -> str:
        if statement["data"]:
            data = json.loads((path.parent / statement["json"]).read_text("utf-8"))
            return f"const {statement['data']} = {json.dumps(data, ensure_ascii=False)};"
        names = [name.strip() for name in statement["names"].split(",") if name.strip()]
        if unknown := [name for name in names if not name.isidentifier()]:
            raise _unknown(path, f"import of {unknown[0]!r}", "names must be imported unchanged")
        imported = (path.parent / statement["file"]).resolve()
        imports.setdefault(imported, []).extend(names)
        return ""

    defined, exported, code = [], [], []
    for line in _IMPORT.sub(take_out, path.read_text("utf-8")).split("\n"):
        declaration = _DECLARATION.match(line)
        if declaration:
            defined.append(declaration["name"])
            if declaration["export"]:
                exported.append(declaration["name"])
                line = line if is_entry else line.removeprefix("export ")
        elif _TOP_LEVEL.match(line) and not (is_entry and line == "export default {"):
            raise _unknown(path, line, "is it a new form of import, export or declaration?")
        code.append(line)
    return _Module(imports=imports, defined=defined, exported=exported, code="\n".join(code))


def _check_names(modules: dict[Path, _Module]) -> None:
    home: dict[str, Path] = {}
    for file, module in modules.items():
        for name in module.defined:
            if name in home:
                raise ValueError(
                    f"a name may be defined once, got {name} in {home[name].name} and {file.name}: "
                    "the modules share one scope when they are joined, so rename one of the two"
                )
            home[name] = file
        for source, names in module.imports.items():
            for name in names:
                if name not in modules[source].exported:
                    raise ValueError(
                        f"{file.name} imports {name} from {source.name}, which exports "
                        f"{', '.join(modules[source].exported) or 'nothing'}: is it misspelt?"
                    )


def _unknown(path: Path, what: str, cause: str) -> ValueError:
    return ValueError(
        f"{path.name} has a form that the bundler does not know, got {what.strip()!r}: {cause} "
        "(the forms it knows are listed in course_lib/viz/web/bundle_modules.py)"
    )
