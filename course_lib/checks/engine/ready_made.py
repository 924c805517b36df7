"""Ready-made versions of what an item asks a learner to write.

Only what is listed here is refused, for these items alone: an answer may use everything else of
PyTorch, and a module of PyTorch may use any of this inside another item's answer. A check at home
watches the answer run (``find_running``), which finds what an honest learner calls. Grading takes
all this away before the notebook runs (``withhold``), by operator and by code and not by name. What
an answer puts together from other parts of PyTorch is its own, even where these parts are odd:
``grading.submissions.flags`` names those for a person to look at.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import metadata
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import CodeType, FrameType, ModuleType
from typing import Any, NoReturn

import torch

from course_lib.checks.engine.call import SECONDS, Call, Use, ask, call_plainly, is_learners
from course_lib.checks.engine.time_limit import REAL_TIME, Timer

_ATTENTION = (
    "torch.nn.functional.scaled_dot_product_attention",
    "torch.nn.functional.multi_head_attention_forward",
    "torch.nn.attention.flex_attention.flex_attention",
    "torch._scaled_dot_product_attention_math",
    "torch._scaled_dot_product_flash_attention_for_cpu",
)
_MULTI_HEAD = (
    "torch.nn.MultiheadAttention",
    "torch.nn.functional.multi_head_attention_forward",
    "torch._native_multi_head_attention",
)
_KEYS = (
    *("CompositeImplicitAutograd", "AutogradCPU", "CPU"),
    *("AutogradNestedTensor", "NestedTensorCPU"),
)
_ENCODER_LAYER = ("torch.nn.TransformerEncoderLayer", "torch._transformer_encoder_layer_fwd")
# Functions, classes (of which their own `forward` counts) and whole packages.
READY_MADE: Mapping[str, tuple[str, ...]] = {
    "03.layer_norm": (
        "torch.nn.LayerNorm",
        "torch.nn.functional.layer_norm",
        "torch.layer_norm",
        "torch.native_layer_norm",
        "torch.nn.functional.group_norm",
        "torch.group_norm",
        "torch.native_group_norm",
        "torch.nn.functional.instance_norm",
        "torch.instance_norm",
        "torch.nn.functional.batch_norm",
        "torch.batch_norm",
        "torch._batch_norm_impl_index",
        "torch.native_batch_norm",
        "torch._native_batch_norm_legit",
        "torch._refs._normalize",
        "torch._refs.native_layer_norm",
        "torch._refs.native_group_norm",
        "torch._decomp.decompositions.native_batch_norm_helper",
    ),
    "03.feed_forward": ("torch.nn.TransformerEncoderLayer", "torch.nn.TransformerDecoderLayer"),
    "04.scaled_dot_product_attention": _ATTENTION,
    "04.multi_head_attention": _MULTI_HEAD,
    "05.attention_einsum": _ATTENTION,
    "05.multi_head_einsum": _MULTI_HEAD,
    "07.encoder_block": _ENCODER_LAYER,
    "07.decoder_block": ("torch.nn.TransformerDecoderLayer",),
    "07.pre_norm_encoder_block": _ENCODER_LAYER,
    "17.rms_norm": (
        "torch.nn.RMSNorm",
        "torch.nn.functional.rms_norm",
        "torch.rms_norm",
    ),
    "17.rotate": ("course_lib.modern.rotary.rotate_interleaved",),
    "17.count_parameters": ("course_lib.modern.counts.parameter_parts",),
    "12.bleu": ("sacrebleu", "nltk", "evaluate", "torchmetrics", "torchtext", "ignite"),
    "18.cache_bytes": (
        "course_lib.modern.counts.cache_bytes_per_token",
        "course_lib.modern.counts.cache_numbers_per_token",
    ),
    "18.grouped_query_attention": (*_ATTENTION, "course_lib.modern.attention.repeat_heads"),
    "18.latent_absorbed": (
        *_ATTENTION,
        "course_lib.modern.latent_attention.absorbed_scores",
    ),
    "18.online_attention": (*_ATTENTION, "course_lib.modern.online_softmax.online_attention"),
}


def ready_made_packages(item_id: str) -> list[str]:
    """The packages that are ready-made for the item as a whole."""
    return [name for name in READY_MADE.get(item_id, ()) if "." not in name]


def refusal(name: str, item_id: str) -> str:
    """What to tell of an answer that calls this."""
    return (
        f"It works, but it calls {name}, which is ready-made, so there are no points: take that "
        f"out and check again. This task asks you to write {item_id.split('.')[1]} yourself; "
        "everything else in PyTorch and the course may help you."
    )


class ReadyMade(Exception):
    """What is ready-made was called where it has been taken away; the message is its name."""


called: dict[str, None] = {}  # the names of what was called there, an ordered set


def withhold(item_id: str) -> None:
    """From now on, what is ready-made for the item raises ``ReadyMade`` when it is called. It can
    still be imported and looked up: that is nobody's answer.

    Nothing is put back: this is for a process that runs one answer, and has not begun to.
    """
    modules: dict[str, str] = {}
    sources: dict[_Source, str] = {}
    for name in READY_MADE.get(item_id, ()):
        module, _, attribute = name.rpartition(".")
        if module not in sys.modules:
            modules[module or name] = name
            continue
        found = inspect.unwrap(getattr(sys.modules[module], attribute))
        if inspect.isclass(found):
            sources[_source_of(vars(found)["forward"].__code__)] = name
            _withhold_forward(found, name)
        elif hasattr(found, "__code__"):
            sources[_source_of(found.__code__)] = name
            _withhold_function(found, name)
        else:
            _withhold_operator(attribute, name)
    _withhold_sources(sources)
    sys.meta_path.insert(0, _Withheld(modules))


def _withhold_function(found: Any, name: str) -> None:
    """Withhold a function by its code, and so under whatever name a module has it."""
    found.__defaults__, found.__kwdefaults__ = None, {"withheld": name}
    found.__code__ = _code_of_withheld.__code__


def _code_of_withheld(*args: Any, withheld: str, **kwargs: Any) -> NoReturn:
    """The code of a function that is withheld, which sees the names of that function's module."""
    from course_lib.checks.engine.ready_made import refuse

    refuse(withheld)


def refuse(name: str) -> NoReturn:
    """Note that what is withheld was called, and raise ``ReadyMade``."""
    called[name] = None
    raise ReadyMade(name)


def _stub(name: str) -> Callable[..., NoReturn]:
    """What stands for an operator, or for a method, that is withheld."""

    def withheld(*args: Any, **kwargs: Any) -> NoReturn:
        refuse(name)

    return withheld


def _withhold_operator(operator: str, name: str) -> None:
    """Withhold a function that is written in C++, by whatever name it is called: ``torch.ops`` and
    code that ``torch.jit.script`` has compiled have others.
    """
    library = torch.library.Library("aten", "IMPL")

    def withheld(*args: Any, kept: Any = library, **kwargs: Any) -> NoReturn:
        """It holds as long as the library is there, which nobody else has."""
        refuse(name)

    for key in _KEYS:
        with contextlib.suppress(RuntimeError):  # not every operator has each of them
            library.impl(operator, withheld, key)


_Source = tuple[str, bytes, tuple[str, ...], tuple[str, ...]]


def _source_of(code: CodeType) -> _Source:
    """What code from the same source has in common, whatever file it is from."""
    return code.co_name, code.co_code, code.co_names, code.co_varnames


def _withhold_sources(sources: Mapping[_Source, str]) -> None:
    """Refuse to run again the source of what is withheld: that would define it anew."""

    def notice(event: str, args: tuple[Any, ...]) -> None:
        if event != "exec":
            return
        waiting = [args[0]]
        while waiting:
            code = waiting.pop()
            if name := sources.get(_source_of(code)):
                refuse(name)
            waiting += [each for each in code.co_consts if isinstance(each, CodeType)]

    sys.addaudithook(notice)


def _withhold_forward(found: type, name: str) -> None:
    """Withhold the ``forward`` of a class and of the subclasses that its package has or will load;
    a learner's own subclass may have one.
    """
    package = found.__module__.partition(".")[0]

    def withhold_own(cls: type) -> None:
        if "forward" in vars(cls) and cls.__module__.partition(".")[0] == package:
            cls.forward = _stub(name)  # type: ignore[attr-defined]  # any class

    waiting = [found]
    while waiting:
        each = waiting.pop()
        withhold_own(each)
        waiting += each.__subclasses__()
    # mypy takes a method that is put in place of another for a wrong type.
    found.__init_subclass__ = classmethod(withhold_own)  # type: ignore[assignment]


class _Withheld(MetaPathFinder, Loader):
    """Loads modules in which everything is withheld in place of others that are installed.

    Args:
        names: what is ready-made, by the module that it is or is in.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        self.origins = {module: self._origin(module) for module in names}
        for loaded in list(sys.modules):
            if self._module_of(loaded):
                del sys.modules[loaded]

    @staticmethod
    def _origin(module: str) -> str | None:
        """The file of the package, which may be one that a learner's cell has written; None where
        there is none, or the package's files are hidden.
        """
        spec = PathFinder.find_spec(module.partition(".")[0])
        return spec.origin if spec else None

    def _module_of(self, name: str) -> str:
        """Which of the modules one of this name is or is in, "" for none."""
        return next((each for each in self.names if f"{name}.".startswith(f"{each}.")), "")

    def find_spec(self, name: str, *location: Any) -> ModuleSpec | None:
        """A module to be loaded here; None if it is another one."""
        module = self._module_of(name)
        origin = self.origins.get(module)
        if origin is None or self._origin(module) not in (None, origin):
            return None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """A module that has every name, and what a notebook prints of a package."""
        module = self._module_of(spec.name)
        given = _WithheldClass("withheld", (), {"withheld_name": self.names[module]})
        made = type("Withheld", (ModuleType,), {"__getattr__": _give(given)})(spec.name)
        made.__dict__.update(__file__=self.origins[module], __version__=_version(module))
        return made

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


class _WithheldClass(type):
    """The type of what a withheld module seems to define, functions too: it can be named, annotated
    with, derived from and asked for attributes, as in a comparison, but not called.
    """

    withheld_name: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        refuse(cls.withheld_name)

    def __getattr__(cls, attribute: str) -> type:
        return _give(cls)(cls, attribute)


def _give(given: type) -> Callable[[object, str], type]:
    """A ``__getattr__``, by which all that a module or class seems to define is this."""

    def attribute_of(owner: object, attribute: str) -> type:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return given

    return attribute_of


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # it may be installed under another name
        return "0"


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
    found = inspect.unwrap(getattr(sys.modules[module], attribute)) if module else name
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
