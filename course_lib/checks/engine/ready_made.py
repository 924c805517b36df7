"""Ready-made versions of what an item asks a learner to write, found by running the answer.

Only what is listed here is refused, for these items alone: an answer may use everything else of
PyTorch, and a module of PyTorch may use any of this inside another item's answer. This also runs
inside the jail. It finds what an honest learner calls; somebody who hides a call can do so.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

from course_lib.checks.engine.call import SECONDS, Call, Use, ask, call_plainly, is_learners
from course_lib.checks.engine.time_limit import REAL_TIME, Timer

_ATTENTION = (
    "torch.nn.functional.scaled_dot_product_attention",
    "torch.nn.functional.multi_head_attention_forward",
    "torch.nn.attention.flex_attention.flex_attention",
)
_MULTI_HEAD = ("torch.nn.MultiheadAttention", "torch.nn.functional.multi_head_attention_forward")
# Functions, classes (of which their own `forward` counts) and whole packages.
READY_MADE: Mapping[str, tuple[str, ...]] = {
    "03.layer_norm": (
        "torch.nn.LayerNorm",
        "torch.nn.functional.layer_norm",
        "torch.layer_norm",
        "torch.native_layer_norm",
        "torch.nn.functional.group_norm",
        "torch.group_norm",
    ),
    "03.feed_forward": ("torch.nn.TransformerEncoderLayer", "torch.nn.TransformerDecoderLayer"),
    "04.scaled_dot_product_attention": _ATTENTION,
    "04.multi_head_attention": _MULTI_HEAD,
    "05.attention_einsum": _ATTENTION,
    "05.multi_head_einsum": _MULTI_HEAD,
    "07.encoder_block": ("torch.nn.TransformerEncoderLayer",),
    "07.decoder_block": ("torch.nn.TransformerDecoderLayer",),
    "07.pre_norm_encoder_block": ("torch.nn.TransformerEncoderLayer",),
    "12.bleu": ("sacrebleu", "nltk", "evaluate", "torchmetrics", "torchtext", "ignite"),
}


def refusal(name: str, item_id: str) -> str:
    """What to tell of an answer that calls this."""
    return (
        f"It works, but it calls {name}, which is ready-made, so there are no points: take that "
        f"out and check again. This task asks you to write {item_id.split('.')[1]} yourself; "
        "everything else in PyTorch and the course may help you."
    )


def find_ready_made(
    item_id: str,
    subject: Any,
    calls: Sequence[Call],
    *,
    use: Use = call_plainly,
    timer: Timer = REAL_TIME,
) -> str:
    """What is ready-made for the item and runs when these calls are made; "" for nothing."""
    wanted = ready_made_code(item_id)
    return find_running(wanted, subject, calls, use=use, timer=timer) if wanted else ""


def ready_made_code(item_id: str) -> dict[Any, str]:
    """The names of what is ready-made for the item, by its code: see ``find_running``."""
    return {code: name for name in READY_MADE.get(item_id, ()) for code in code_of(name)}


def code_of(name: str) -> Iterator[Any]:
    """The code of a function, of a class's own ``forward``; or the name of a package. Nothing of a
    module that is not imported: then nobody has called it.
    """
    module, _, attribute = name.rpartition(".")
    if module and module not in sys.modules:
        return
    found = getattr(sys.modules[module], attribute) if module else name
    if inspect.isclass(found):
        yield vars(found)["forward"].__code__
    else:
        yield getattr(found, "__code__", found)


def find_running(
    wanted: Mapping[Any, str],
    subject: Any,
    calls: Sequence[Call],
    *,
    use: Use = call_plainly,
    timer: Timer = REAL_TIME,
    seconds: float = SECONDS,
) -> str:
    """What of some code runs when these calls are made of a learner's code; "" for nothing, or if
    nothing was found in time.

    Args:
        wanted: what to call it, by code objects, functions that are written in C, and the names of
            packages; a learner's own file may have the name of a package.
        subject: the learner's.
        calls: their arguments.
        use: how it is called.
        timer: of the time limit.
        seconds: for all calls together, which take longer here than in a test.
    """
    found = ""

    def notice(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal found
        if event == "call":
            found = found or wanted.get(frame.f_code) or package_of(frame)
        elif event == "c_call":
            found = found or wanted.get(argument, "")

    def package_of(frame: FrameType) -> str:
        name = wanted.get(str(frame.f_globals.get("__name__")).partition(".")[0], "")
        return "" if name and is_learners(frame) else name

    end = timer.now() + seconds
    for call in calls:
        left = end - timer.now()
        if found or left <= 0:
            break
        before = sys.getprofile()
        sys.setprofile(notice)
        try:
            ask(subject, call, use, seconds=left, timer=timer)
        finally:
            sys.setprofile(before)
    return found
