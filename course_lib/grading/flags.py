"""What in a learner's source a person should look at. A flag never deducts points by itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from course_lib.grading.cell_source import without_magics
from course_lib.grading.transplant import CodeCell

# Names that exercises have no use for, and that attempts to cheat or to escape need.
_UNUSUAL = {
    *("ctypes", "gc", "subprocess", "socket", "multiprocessing", "signal", "builtins"),
    *("importlib", "__import__", "eval", "exec", "compile", "_exit", "system", "modules"),
    *("_getframe", "settrace", "setprofile", "__subclasses__", "__globals__", "__code__"),
    *("__torch_function__", "__torch_dispatch__", "get_objects", "get_referrers", "atexit"),
    *("grading", "course_lib.grading", "course_lib.checks.items"),
}
_ATTENTION = {"scaled_dot_product_attention", "MultiheadAttention", "multi_head_attention_forward"}
# Ready-made versions of what an item asks for, in PyTorch and elsewhere.
_READY_MADE = {
    "03.layer_norm": {"LayerNorm", "layer_norm", "native_layer_norm"},
    "03.feed_forward": {"TransformerEncoderLayer", "TransformerDecoderLayer"},
    "04.scaled_dot_product_attention": _ATTENTION,
    "04.multi_head_attention": _ATTENTION,
    "05.attention_einsum": _ATTENTION,
    "05.multi_head_einsum": _ATTENTION,
    "07.encoder_block": {"TransformerEncoderLayer"},
    "07.decoder_block": {"TransformerDecoderLayer"},
    "07.pre_norm_encoder_block": {"TransformerEncoderLayer"},
    "11.bleu": {"sacrebleu", "nltk", "bleu_score", "corpus_bleu", "sentence_bleu"},
}
_MOST = 10  # flags of one item


def flags_of(item_id: str, cells: Sequence[CodeCell]) -> tuple[str, ...]:
    """The flags of an item: ready-made functions in its answer, unusual names anywhere."""
    found = []
    for cell in cells:
        if cell.ours:
            continue
        for name, line in _names(cell.source):
            where = f"(cell {cell.name}, line {line})"
            if name in _UNUSUAL:
                found.append(f"unusual in this course: {name} {where}")
            elif name in _READY_MADE.get(item_id, ()) and cell.item in ("", item_id):
                found.append(f"ready-made for this item: {name} {where}")
    return tuple(dict.fromkeys(found))[:_MOST]


def _names(source: str) -> Iterator[tuple[str, int]]:
    """The names that a cell looks up or imports, with their lines; none if it is no Python."""
    try:
        tree = ast.parse(without_magics(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id, node.lineno
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            for name in filter(None, [module, *(alias.name for alias in node.names)]):
                yield name, node.lineno
                if "." in name:
                    yield name.split(".")[0], node.lineno
