"""The full model: names of its parts, how tying is asked for, what is counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from course_lib.checks.conventions.changes import on, parameters_renamed, phrases, times
from course_lib.checks.conventions.convention import Convention, Translation


def _parts(name: str, **names: str) -> Convention:
    listed = ", ".join(f"`{new}` for `{old}`" for old, new in names.items())
    edits = tuple((f"`{old}`", f"`{new}`") for old, new in names.items())
    return Convention(
        name,
        "names of the parts",
        f"The model's parts have other names: {listed}.",
        {"08.transformer": parameters_renamed(edits, **names)},
        phrases({f"self.{old}": f"self.{new}" for old, new in names.items()}),
    )


def _tying(name: str, sentence: str, kind: str, written: Mapping[str, Any]) -> Convention:
    back = {value: word for word, value in written.items()}
    values = [repr(each) for each in written.values()]
    return Convention(
        name,
        "tying",
        sentence,
        {
            "08.tie": Translation(
                on(tying=lambda word: written[word]),
                on(tying=lambda value: back[value]),
                edits=(
                    ("as a config's `tying` says", "as `tying` says"),
                    (
                        "The tables are `model.",
                        "The model is the course's own, whatever names the parts of yours have. "
                        "The tables are `model.",
                    ),
                    ("tying: str", f"tying: {kind}"),
                    (
                        'tying is "none", "output" or "all"',
                        f"tying is {values[0]}, {values[1]} or {values[2]}",
                    ),
                    *((f'`"{word}"`', f"`{value!r}`") for word, value in written.items()),
                ),
            )
        },
        phrases({f"'{word}'": repr(value) for word, value in written.items()}),
    )


def _unit(name: str, sentence: str, factor: int) -> Convention:
    return Convention(
        name,
        "unit",
        sentence,
        {
            "08.count_parameters": Translation(
                result=times(factor),
                edits=(
                    (
                        "to the exact number of parameters of its model, an integer.",
                        "to the exact number of bytes that *your conventions* name, an integer.",
                    ),
                    ("the lesson counted 506.", "the lesson counted 506 parameters."),
                    (
                        "The number of parameters of a Transformer, without",
                        "The bytes of a Transformer, as *your conventions* say, without",
                    ),
                ),
            )
        },
    )


CONVENTIONS = (
    _parts(
        "annotated_names",
        source_embedding="src_embed",
        target_embedding="tgt_embed",
        output="generator",
    ),
    _parts("short_names", encoder="enc", decoder="dec", output="to_logits"),
    _tying(
        "tying_counts",
        "`tying` is the **number of tables that are one**: 1 shares nothing, 2 stands for "
        '`"output"`, and 3 for `"all"`.',
        "int",
        {"none": 1, "output": 2, "all": 3},
    ),
    _tying(
        "tying_names_sides",
        '`tying` names the parts that share **the target\'s embedding**, joined by a plus: `""` '
        "shares nothing.",
        "str",
        {"none": "", "output": "output", "all": "output+source"},
    ),
    _unit(
        "bytes_float32",
        "What is asked for is the **memory of the parameters in float32**: four bytes each.",
        4,
    ),
    _unit(
        "bytes_bfloat16",
        "What is asked for is the **memory of the parameters in bfloat16**: two bytes each.",
        2,
    ),
    _unit(
        "bytes_adam",
        "What is asked for is the **memory of training with Adam in float32**: parameter, "
        "gradient and two moments, four bytes each, for every parameter.",
        16,
    ),
)
