"""Options and records are made by keyword: two adjacent numbers or paths are swapped unnoticed."""

import importlib
import inspect
import pkgutil
from dataclasses import fields, is_dataclass

import pytest

import course_lib

# Values that are written as rows of a table, where the columns say what is what.
VALUE_TYPES = {
    "course_lib.viz.diagram.model_diagram_parts.Part": "a row of the table of the model's parts",
    "course_lib.viz.diagram.one_stack_parts.StackPart": "a row of the same table for one stack",
    "course_lib.viz.plots.plot_beam.Branch": "a row of a small tree, also written in lesson 13",
}


def modules():
    for found in pkgutil.walk_packages(course_lib.__path__, "course_lib."):
        if not found.name.endswith("__main__") and ".course." not in found.name:
            yield importlib.import_module(found.name)


@pytest.fixture(scope="module")
def dataclasses():
    return {
        f"{value.__module__}.{value.__qualname__}": value
        for module in modules()
        for value in vars(module).values()
        if isinstance(value, type) and is_dataclass(value) and value.__module__ == module.__name__
    }


def positional_fields(dataclass):
    return [each.name for each in fields(dataclass) if each.init and not each.kw_only]


def test_from_the_third_field_on_a_dataclass_is_made_by_keyword(dataclasses):
    found = {name: positional_fields(each)[2:] for name, each in dataclasses.items()}
    left = {name for name, more in found.items() if more} - VALUE_TYPES.keys()
    assert not left, "write @dataclass(kw_only=True), or _: KW_ONLY after two fields at most"


def test_a_value_type_that_is_excused_is_there_and_needs_it(dataclasses):
    assert all(len(positional_fields(dataclasses[name])) > 2 for name in VALUE_TYPES)


# Where it holds without exception. Elsewhere many functions take what has a fixed order in the
# literature (query, key, value, mask), or are the answers that learners write.
HELD = (
    *("grading.class_run", "grading.marks", "grading.nbgrader", "grading.reports"),
    *("grading.submissions", "grading.assign_command", "grading.grade_command", "grading.verbs"),
    *("grading.options", "grading.results", "grading.safe_csv", "work_copy", "data"),
    *("checks.diagnosis", "checks.report", "arguments", "atomic", "cli", "doctor", "home", "lab"),
    *("pages", "run_options", "terminal", "threads", "training_verbs", "translation_verbs"),
)


def functions_in(module):
    """The public functions that a module defines, and the methods of its public classes."""
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", "") != module.__name__:
            continue
        if inspect.isfunction(value):
            yield value
        elif isinstance(value, type):
            for method in vars(value).values():
                method = getattr(method, "__func__", method)
                if inspect.isfunction(method) and not method.__name__.startswith("_"):
                    yield method


def test_from_the_third_on_the_parameters_of_a_function_are_keyword_only():
    left = []
    for module in modules():
        if not f"{module.__name__}.".startswith(tuple(f"course_lib.{name}." for name in HELD)):
            continue
        for function in functions_in(module):
            parameters = [
                name
                for name, each in inspect.signature(function).parameters.items()
                if each.kind is each.POSITIONAL_OR_KEYWORD and name not in ("self", "cls")
            ]
            if len(parameters) > 2:
                left.append(f"{module.__name__}.{function.__qualname__}")
    assert not left, "write a * before the third parameter"
    names = [f"{module.__name__}." for module in modules()]
    for prefix in HELD:
        assert any(name.startswith(f"course_lib.{prefix}.") for name in names), prefix
