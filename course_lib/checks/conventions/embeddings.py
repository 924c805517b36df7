"""Embeddings: the order of axes, the name of the table."""

from __future__ import annotations

from course_lib.checks.conventions.axes_otherwise import Axes, axis_conventions
from course_lib.checks.conventions.changes import parameters_renamed
from course_lib.checks.conventions.convention import Convention


def _table_called(name: str) -> Convention:
    edits = (
        ("`tokens.weight`", f"`{name}.weight`"),
        ("self.tokens = nn.Embedding", f"self.{name} = nn.Embedding"),
        ("nn.init.normal_(self.tokens.weight", f"nn.init.normal_(self.{name}.weight"),
        ("self.tokens(tokens)", f"self.{name}(tokens)"),
    )
    return Convention(
        f"table_is_{name}",
        "name of the table",
        f"The embedding layer is called **`{name}`**.",
        {"02.transformer_embedding": parameters_renamed(edits, tokens=name)},
    )


CONVENTIONS = (
    _table_called("table"),
    _table_called("lookup"),
    *axis_conventions(
        {
            "02.transformer_embedding": Axes(
                ("tokens",),
                edits=(
                    ("the real tokens of its row", "the real tokens of its sentence"),
                    (
                        "A cumulative sum along the first one",
                        "A cumulative sum along the second one",
                    ),
                    (
                        "Older code has the axes (seq, batch, d_model). Here they are",
                        "The lesson has the batch first. Here the axes are",
                    ),
                    ("real tokens in its row up to", "real tokens in its sentence up to"),
                ),
            )
        },
        ("seq_first",),
    ),
)
