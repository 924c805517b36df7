"""The names of a module's parts."""

from __future__ import annotations

from course_lib.checks.conventions.changes import parameters_renamed
from course_lib.checks.conventions.convention import Convention, touched


def _called(item: str, name: str, aspect: str, **names: str) -> Convention:
    listed = ", ".join(f"**`{new}`** instead of `{old}`" for old, new in names.items())
    old = "|".join(names)
    parts = "Parts of the module have other names" if len(names) > 1 else "A part is renamed"
    return Convention(
        name=name,
        aspect=aspect,
        paragraph=f"{parts}: {listed}. Where the task or your cell has the old "
        "name, as an attribute or in the name of a parameter, write the new one. Names of "
        "arguments stay, and so do those of the course's own models.",
        touched=touched(
            rf"named (?:{old})|and contract", also=rf"(?<=[.`])(?:{old})\b|\b(?:{old})(?=\.\w|\(|`)"
        ),
        items={item: parameters_renamed(**names)},
    )


_TABLE, _NETWORK, _NORM = "02.transformer_embedding", "03.feed_forward", "03.add_norm"
CONVENTIONS = (
    _called(_TABLE, "table_is_table", "name of the table", tokens="table"),
    _called(_TABLE, "table_is_lookup", "name of the table", tokens="lookup"),
    _called(
        _NETWORK, "layers_are_inner_outer", "names of the layers", expand="inner", contract="outer"
    ),
    _called(_NETWORK, "layers_are_up_down", "names of the layers", expand="up", contract="down"),
    _called(_NORM, "norm_is_layer_norm", "name of the norm", norm="layer_norm"),
    _called(_NORM, "norm_is_ln", "name of the norm", norm="ln"),
    _called(_NORM, "norm_is_normalise", "name of the norm", norm="normalise"),
    _called(
        "08.transformer",
        "annotated_names",
        "names of the parts",
        source_embedding="src_embed",
        target_embedding="tgt_embed",
        output="generator",
    ),
    _called(
        "08.transformer",
        "short_names",
        "names of the parts",
        encoder="enc",
        decoder="dec",
        output="to_logits",
    ),
)
