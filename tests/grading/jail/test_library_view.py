"""What a learner's code may import while an item is graded."""

import ast
import builtins
import copy
import inspect
import re
import shutil
import subprocess
import textwrap
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import nbformat
import pytest

from course_lib.checks import TABLE, TOPICS, load_item, load_items
from course_lib.checks.diagnosis.trial import answer_all, expected_answers, try_probe
from course_lib.checks.engine.call import call_plainly, make_call
from course_lib.checks.engine.compare import answers_differ
from course_lib.checks.engine.isolation import isolated
from course_lib.checks.engine.time_limit import within
from course_lib.grading.jail import library_view
from course_lib.grading.jail.inside.cell_source import without_magics
from course_lib.grading.jail.library_view import (
    engine_files,
    stub_definitions,
    use_files,
    view_files,
    withheld_names,
)
from course_lib.grading.jail.source_slice import course_imports, slice_source
from tests.grading.notebooks_to_hand_in import ROOT

EXERCISES = ROOT / "exercises"
CHECKED = [entry.id for entry in TABLE.values() if entry.kind != "written"]


def names_in(files):
    """The names that sources define, methods aside."""
    return {
        node.name
        for source in files.values()
        for node in ast.parse(source).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }


@pytest.mark.parametrize("item_id", CHECKED)
def test_the_slice_of_an_item_has_its_use_and_no_reference_and_no_misconception(item_id):
    item = load_item(item_id)
    files = use_files(item)
    defined = names_in(files)
    text = "".join(files.values())
    if item.use.__module__.startswith("course_lib.checks.items"):
        assert item.use.__name__ in defined
    assert item.reference.__name__ not in defined
    for misconception in item.misconceptions:
        assert misconception.name not in defined
        assert misconception.symptom not in text
    assert "Item(" not in text
    assert "Probe(" not in text
    assert not any(hint in text for hint in item.hints)
    for name, source in files.items():  # what it needs is there, too
        compile(source, name, "exec")
        assert set(ast_names(source)) <= set(dir(builtins)) | bound_in(source)


def bound_in(source):
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def ast_names(source):
    """The names that are looked up, annotations aside."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            if getattr(node, name, None) is not None:
                setattr(node, name, None)
    nodes = (n for n in ast.walk(tree) if isinstance(n, ast.Name))
    return [node.id for node in nodes if isinstance(node.ctx, ast.Load)]


@pytest.mark.parametrize("item_id", CHECKED)
def test_the_view_of_an_item_has_no_definition_of_what_it_asks_for(item_id):
    item = load_item(item_id)
    view = view_files(item_id, "its_subject")
    names = item.reference.__name__, item_id.split(".")[1]
    start = rf"^(?:def|class) (?:{'|'.join(names)})\b"
    definition = re.compile(rf"{start}.*\n((?:.*\n){{3}})", re.MULTILINE)
    for source in view.values():
        for body in definition.findall(source):
            assert "is what this exercise asks you to write" in body
    allowed = ("checks/__init__.py", "checks/engine/", "checks/items/")
    assert [p for p in view if p.startswith("checks/") and not p.startswith(allowed)] == []
    assert [p for p in view if p.startswith(("cli", "doctor", "grading/class_run"))] == []
    items = {path for path in view if path.startswith("checks/items/")}
    assert items == set(use_files(item)) | {"checks/items/__init__.py"}


def test_the_parts_that_only_have_to_be_added_up_are_withheld():
    view = view_files("08.count_parameters", "count_parameters")
    assert "def parameter_parts(*args" in view["model/parameter_count.py"]


@cache
def public_definitions():
    """The functions and classes of what a view has of the library, those that draw aside."""
    found = {}
    for path in library_view._library_paths():
        if path.parts[0] in library_view._PACKAGES and path.parts[0] != "viz":
            parts = path.with_suffix("").parts if path.stem != "__init__" else path.parent.parts
            module = import_module(".".join(("course_lib", *parts)))
            own = (each for each in vars(module).items() if not each[0].startswith("_"))
            for name, value in own:
                if getattr(value, "__module__", "") == module.__name__ and callable(value):
                    found[name] = value
    return found


FILLED_IN = (0.0, None, True)


def obvious_uses(function, call, *, plainly):
    """A function as it is, and with something for the arguments that a call does not give."""
    yield function
    if not plainly or inspect.isclass(function):
        return
    try:
        signature = inspect.signature(function)
        bound = signature.bind_partial(*call.args, **dict(call.kwargs)).arguments
    except (TypeError, ValueError):
        return
    parameters = signature.parameters.values()
    missing = [p for p in parameters if p.default is p.empty and p.name not in bound]
    if missing and all(p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in missing):
        for value in FILLED_IN:
            yield partial(function, **{parameter.name: value for parameter in missing})


def is_right(subject, item):
    """Whether it passes; most fail in the first call."""
    [call, *_], [answer, *_] = expected_answers(item.probes[0], item, seed=0)
    [given] = answer_all(subject, [call], use=item.use, seconds=0.5)
    return not answers_differ(answer, given, tolerance=item.tolerance) and not any(
        try_probe(probe, item, subject=subject, draw_seed=number, seconds=1.0).difference
        for number, probe in enumerate(item.probes)
    )


def answers(subject, call, item):
    """Whether it gives anything for a call: most functions take other arguments."""
    args, kwargs = copy.deepcopy((call.args, dict(call.kwargs)))
    try:
        within(0.5, lambda: make_call(subject, replace(call, args=args, kwargs=kwargs), item.use))
    except BaseException:
        return False
    return True


def right_answers(item, names):
    """Which of the course's public functions and classes are right answers as they are."""
    [call, *_], _ = expected_answers(item.probes[0], item, seed=0)
    plainly = item.use is call_plainly
    with isolated():
        found = [
            (name, use)
            for name in names
            for use in obvious_uses(public_definitions()[name], call, plainly=plainly)
            if answers(use, call, item)
        ]
    return {name for name, use in found if is_right(use, item)}


@pytest.mark.slow
@pytest.mark.parametrize("item_id", CHECKED)
def test_nothing_of_the_course_s_in_a_view_is_a_right_answer_as_it_is(item_id):
    item = load_item(item_id)
    withheld = withheld_names(item, "its_subject")
    assert right_answers(item, public_definitions().keys() - withheld) == set()


@pytest.mark.parametrize(
    ("item_id", "name"),
    [
        ("05.attention_einsum", "attention_matmul"),
        ("10.masked_cross_entropy", "label_smoothed_loss"),
        ("13.greedy_decode", "greedy_decode"),
    ],
)
def test_a_right_answer_under_another_name_is_found_and_withheld(item_id, name):
    item = load_item(item_id)
    assert right_answers(item, [name]) == {name}
    assert name in withheld_names(item, "its_subject")


@pytest.mark.parametrize(
    ("item_id", "used"),
    [
        ("09.collate", "from course_lib.data.batching import pad_sequences as f\nf([[1]], 0)"),
        (
            "11.label_smoothed_loss",
            "from course_lib.training.fast_loss import projected_loss as f\nf(*[0] * 6)",
        ),
    ],
)
def test_what_an_answer_could_be_put_together_from_is_withheld(item_id, used, jail):
    with jail.session(jail.library(item_id, view_files(item_id, "its_subject"))) as session:
        assert session.run("cell", used, 20).kind == "ImportError"


@pytest.mark.parametrize("path", sorted(EXERCISES.glob("*/*.ipynb")), ids=lambda path: path.stem)
def test_what_an_exercise_imports_runs_nothing_that_it_asks_for(path):
    cells = {cell["id"]: cell["source"] for cell in nbformat.read(path, as_version=4)["cells"]}
    namespace = {}
    exec(cells["imports"], namespace)
    withheld = [
        withheld_names(item, "its_subject") for item in load_items(path.parent.name[:2]).values()
    ]
    for imported in namespace.values():
        if getattr(imported, "__module__", "").startswith("course_lib."):
            used = set(ast_names(textwrap.dedent(inspect.getsource(imported))))
            assert not used & set.union(*withheld), imported


def test_a_stub_says_what_it_stands_for():
    source = "@decorated\ndef f(x):\n    return 1\n\nclass C(Base):\n    y = 1\n\n"
    source += "def g():\n    return f(1)\n"
    made = stub_definitions(source, {"f", "C"})
    assert "return 1" not in made
    assert "y = 1" not in made
    namespace = {"Base": object}
    exec(made, namespace)
    for name in ("f", "C", "g"):
        with pytest.raises(ImportError, match="is what this exercise asks you to write"):
            namespace[name]()


def test_a_slice_keeps_what_is_used_and_nothing_else():
    source = """\
from __future__ import annotations
import math, os
from a import b, c as d
X, Y = 1, 2
Z: Unused = X
class Kept(d):
    def m(self) -> Unused: return Z
def wanted(x: Unused = math.pi): return Kept
def unwanted(): return os
"""
    made = slice_source(source, {"wanted"})
    assert names_in({"": made}) == {"Kept", "wanted"}
    assert "import math" in made
    assert "from a import c as d" in made
    assert "X, Y" in made
    for word in ("os", "import b", "unwanted"):
        assert word not in made
    with pytest.raises(KeyError):
        slice_source(source, {"missing"})


def test_what_runs_in_the_jail_imports_of_the_course_what_is_in_the_jail():
    files = engine_files()
    for path, source in files.items():
        for module, names in course_imports(source).items():
            where = Path(*module.split(".")[1:])
            inside = {where.with_suffix(".py"), where / "__init__.py"} if where.parts else set()
            inside |= {where / f"{name}.py" for name in names}
            inside |= {where / name / "__init__.py" for name in names}
            assert {str(each) for each in inside} & set(files), (path, module)


def test_the_engine_in_the_jail_is_the_engine_that_checks():
    files = engine_files()
    engine = sorted((library_view.LIBRARY / library_view.ENGINE).glob("*.py"))
    assert len(engine) > 5
    for path in engine:
        assert files[f"{library_view.ENGINE}/{path.name}"] == path.read_text("utf-8")


def course_imports_of(path):
    """The statements of a notebook that import from the course."""
    found = {}
    for cell in nbformat.read(path, as_version=4)["cells"]:
        source = without_magics(cell["source"]) if cell["cell_type"] == "code" else ""
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                module = getattr(node, "module", None) or node.names[0].name
                if module.split(".")[0] == "course_lib":
                    found[ast.unparse(node)] = None
    return list(found)


def what_fails(session, statements):
    """What each statement raises in the jail, where it raises something."""
    failures = {each: session.run("cell", each, 20) for each in statements}
    return {each: f"{f.kind}: {f.message}" for each, f in failures.items() if f}


@pytest.mark.slow
@pytest.mark.parametrize("lesson", TOPICS)
def test_what_a_lesson_and_its_exercise_import_of_the_course_is_in_the_jail(lesson, jail):
    paths = sorted(ROOT.glob(f"notebooks/{lesson}_*.ipynb")) + sorted(
        EXERCISES.glob(f"{lesson}_*/*.ipynb")
    )
    assert len(paths) == 2
    statements = [each for path in paths for each in course_imports_of(path)]
    assert statements
    statements.append("import course_lib.viz")
    [item_id, *_] = load_items(lesson)
    with jail.session(jail.library(item_id, view_files(item_id, "its_subject"))) as session:
        assert what_fails(session, statements) == {}


@pytest.mark.slow
def test_what_the_course_s_modules_read_when_they_are_used_is_in_the_jail(jail):
    used = """
from course_lib import viz
from course_lib.training import load_translator
from course_lib.viz.web.bundles import bundle
import torch
load_translator()
viz.plot_attention(torch.ones(2, 2) / 2, ["a", "b"], ["c", "d"])
"""
    with jail.session(jail.library("06.bug", view_files("06.bug", "its_subject"))) as session:
        assert session.run("cell", used, 20) is None


def test_a_view_has_the_assets_that_git_has_and_no_file_that_lies_beside_them(
    tmp_path, monkeypatch
):
    library = tmp_path / "clone" / "course_lib"
    (library / "assets" / "pages").mkdir(parents=True)
    (library / "assets" / "pages" / "page.css").write_text("released")
    monkeypatch.setattr(library_view, "LIBRARY", library)
    git = ("git", "-C", str(library.parent))
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    (library / "assets" / "pages" / "answers.json").write_text("the instructor's own")

    def shown(name):
        folder, store = tmp_path / name, tmp_path / f"store of {name}"
        folder.mkdir()
        library_view.link_assets(folder, store)
        return {path.name for path in folder.rglob("*") if path.is_file()}

    assert shown("of a clone") == {"page.css"}
    shutil.rmtree(library.parent / ".git")
    assert shown("installed") == {"page.css", "answers.json"}


def test_the_course_s_assets_hold_no_python():
    for path in (library_view.LIBRARY / "assets").rglob("*"):
        assert path.suffix not in (".py", ".ipynb", ".pt", ".pkl")
        if path.suffix not in (".safetensors", ".png") and path.is_file():
            assert not re.search(r"^ *def \w+\(", path.read_text("utf-8"), re.MULTILINE), path


def test_the_course_still_works_in_a_view_and_says_what_is_missing(jail):
    view = jail.library("08.transformer", view_files("08.transformer", "Transformer"))
    source = """
from course_lib.model import Decoder, Encoder, Transformer, TransformerConfig, padding_mask
from course_lib import data, decoding, training
import torch
assert padding_mask(torch.ones(1, 2).long(), 0).all()
Transformer(None)
"""
    with jail.session(view) as session:
        failure = session.run("cell", source, 20)
    assert failure.kind == "ImportError"
    assert failure.message == (
        "Transformer is what this exercise asks you to write, so the course's own is not "
        "available while your answer is graded: use yours"
    )
