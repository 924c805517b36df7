"""A checkpoint is one file: tensors, and a JSON description of what they are.

Which checkpoints a run keeps, `run_folder` decides.

safetensors holds both, runs no code when it is read, and is replaced in one step, so there is
always a whole file: the old one or the new one. A checksum in the description tells if a bit of
either has changed since; and before a model is built, its sizes are compared with the tensors.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from course_lib.atomic import replace_atomically
from course_lib.data import Subwords, Tokenizer, Vocabulary
from course_lib.decoding import Translator
from course_lib.errors import CourseError
from course_lib.model import Transformer
from course_lib.model.eight_bits import read_from_eight_bits, stored_in_eight_bits
from course_lib.training.injected_bugs import inject_bugs
from course_lib.training.models import (
    ModelConfig,
    config_class,
    config_from_json,
    count_parameters,
    new_model,
)
from course_lib.training.recipes import Recipe

ASSETS = Path(__file__).parents[2] / "assets"
MODELS = ("everyday", "small", "prefix", "modern")
PRETRAINED = {name: ASSETS / f"{name}.safetensors" for name in MODELS}
LARGEST_TABLE = 2**28  # numbers in a table of positions, which is in no file: a gigabyte
EVIDENCE = ("language_evidence", "known_characters")  # tensors of a translator, not of its model
EARLY = tuple(ASSETS / f"early-{seed}.safetensors" for seed in range(3))


def save_checkpoint(
    path: Path | str,
    translator: Translator,
    *,
    info: dict[str, Any] | None = None,
    extra: dict[str, Tensor] | None = None,
    bits: Literal[8, 16] | None = None,
) -> None:
    """Write translator, ``info`` (JSON) and ``extra`` tensors to ``path``, atomically.

    A file holds weights and the config, and no code: what computes otherwise than the config says,
    such as a method that was replaced, is lost.

    Args:
        bits: store weights as 16-bit floating-point numbers, or matrices in 8 bits (see
            ``eight_bits``); by default as they are.

    Raises:
        CourseError: the file cannot be written, or could not give back this model and these
            vocabularies; an older one at ``path`` is untouched.
    """
    if not isinstance(translator, Translator):
        raise CourseError(
            "expected a path, then a Translator, which knows a model's vocabularies, got "
            f"{type(path).__name__}, then {type(translator).__name__}: "
            "save_checkpoint(path, Translator(model, source_vocabulary, target_vocabulary))"
        )
    model = translator.model
    source, target = translator.source_vocabulary, translator.target_vocabulary
    weights = {
        name: value.detach().to("cpu", torch.float16 if bits == 16 else None)
        for name, value in model.named_parameters()  # names a tied table once
    }
    stored, scales = stored_in_eight_bits(weights) if bits == 8 else (weights, {})
    tensors = {
        f"{prefix}.{name}": value.contiguous()
        for prefix, named in (
            ("model", stored),
            ("scale", scales),
            ("extra", {**_evidence(translator), **(extra or {})}),
        )
        for name, value in named.items()
    }
    try:
        if not isinstance(model, Transformer):
            raise TypeError(f"the model is a {type(model).__name__}")
        with torch.device("meta"):  # names and shapes, without memory or random numbers
            described = new_model(model.config)
        _check_weights(_weights(tensors), described)
        description = {
            "config": asdict(model.config),
            "source": _describe(source),
            "target": None if target is source else _describe(target),  # None: as the source
            "info": info or {},
        }
        text = json.dumps(description)
    except (TypeError, ValueError) as error:
        raise CourseError(
            "expected a model, vocabularies and info that a checkpoint can describe, got some of "
            f"which {error}: a checkpoint holds a Transformer's config and weights, its words, and "
            "JSON; for all else use torch.save"
        ) from error
    metadata = {"course": text, "crc32": str(_checksum(text, tensors))}

    def write(draft: Path) -> None:
        try:
            save_file(tensors, draft, metadata=metadata)
        except SafetensorError as error:  # a full disk, say
            raise OSError(str(error)) from error

    replace_atomically(Path(path), write)


def read_checkpoint(path: Path | str) -> tuple[Translator, dict[str, Any], dict[str, Tensor]]:
    """The translator at ``path``, its ``info`` and its ``extra`` tensors.

    Raises:
        CourseError: there is no such file, or it is not a whole checkpoint of the course.
    """
    with _opened(path) as (description, file):
        config = config_from_json(description["config"])
        _check_sizes(config, file)
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        stored = file.metadata()
        if stored["crc32"] != str(_checksum(stored["course"], tensors)):
            raise ValueError("its contents and their checksum differ: a part of it has changed")
        translator = _build(description, tensors)
    translator.model.eval()
    extra = _named("extra.", tensors)
    return translator, description["info"], {k: v for k, v in extra.items() if k not in EVIDENCE}


def _named(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): value for k, value in tensors.items() if k.startswith(prefix)}


def _weights(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The model's weights, whether a file holds them in 8 bits or not."""
    return read_from_eight_bits(_named("model.", tensors), _named("scale.", tensors))


def _evidence(translator: Translator) -> dict[str, Tensor]:
    """What a translator knows of its languages, as tensors."""
    if translator.language_evidence is None:
        return {}
    characters = torch.tensor([*map(ord, translator.known_characters)], dtype=torch.int32)
    return dict(zip(EVIDENCE, (translator.language_evidence, characters), strict=True))


def _build(description: dict[str, Any], tensors: dict[str, Tensor]) -> Translator:
    """The translator that a file describes; any error says what the file cannot hold."""
    with torch.random.fork_rng(devices=[]):  # a run that reads its best model goes on as before
        model = new_model(config_from_json(description["config"]))
    weights = _weights(tensors)
    _check_weights(weights, model)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])
    recipe = description["info"].get("recipe", {})
    inject_bugs(recipe.get("bugs", ()), model, trained=True)
    evidence, characters = (tensors.get(f"extra.{name}") for name in EVIDENCE)
    return Translator(
        model,
        *_tokenizers(description),
        language_evidence=evidence,
        known_characters="" if characters is None else "".join(map(chr, characters.tolist())),
    )


def _check_weights(weights: dict[str, Tensor], model: Transformer) -> None:
    """Refuse what are not all the weights of such a model, by ValueError."""
    parameters = dict(model.named_parameters())
    if different := weights.keys() ^ parameters.keys():
        name = min(different)
        raise ValueError(f"{name} is {'missing' if name in parameters else 'no parameter'}")
    for name, weight in weights.items():
        shape = tuple(parameters[name].shape)
        if weight.shape != shape or not weight.is_floating_point():
            raise ValueError(f"{name} should be {shape} real numbers")
        if weight.numel() and not torch.stack(weight.aminmax()).isfinite().all():
            raise ValueError(f"{name} has entries that are not finite (did training diverge?)")


def read_info(path: Path | str) -> dict[str, Any]:
    """The ``info`` of a checkpoint alone; errors as ``read_checkpoint``."""
    with _opened(path) as (description, _):
        info: dict[str, Any] = description["info"]
        return info


@contextmanager
def _opened(path: Path | str) -> Iterator[tuple[dict[str, Any], Any]]:
    """The checkpoint's description and its open file; what fails inside is the file's bug."""
    path = Path(path)
    if not path.is_file():
        other = "a folder" if path.is_dir() else "something that is no file"
        found = other if path.exists() else "nothing"
        raise CourseError(
            f"expected a checkpoint at {path}, found {found}: train one first, or check the path"
        )
    try:
        path.open("rb").close()  # of a file that may not be read, safetensors says it is not there
    except OSError as error:
        raise CourseError(
            f"expected a checkpoint at {path}, which cannot be read ({error.strerror}): whose is "
            "it? Let its owner give you the right to read it"
        ) from error
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            description = json.loads(metadata["course"])
            _refuse_another_form(path, metadata, description)
            yield description, file
    except (CourseError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # what hostile JSON makes Python raise can be anything
        raise CourseError(
            f"expected a whole checkpoint of the course at {path}, got a file that cannot be read "
            f"({str(error)[:300]}): was it cut off or damaged while being written or copied?"
        ) from error


def _refuse_another_form(path: Path, metadata: dict[str, str], description: dict[str, Any]) -> None:
    """Refuse what this version would take for something else, instead of guessing its meaning."""
    found = "" if "crc32" in metadata else "one without a checksum"
    recipe = description["info"].get("recipe", {})
    for name, kind, values in (
        ("recipe", Recipe, recipe),
        ("model", config_class(description["config"]), description["config"]),
    ):
        known = [field.name for field in fields(kind)]
        if unknown := [each for each in values if each not in known]:
            found = f"a {name} with {', '.join(unknown)[:300]}, which this version does not know"
    if found:
        raise CourseError(
            f"expected at {path} a checkpoint as this version of the course writes it, got "
            f"{found}: does it come from another version, or is it damaged? Use it with the "
            "version that wrote it, or train it again"
        )


def _checksum(text: str, tensors: dict[str, Tensor]) -> int:
    """A number that differs if a bit of the description or of a tensor does.

    CRC-32 notices damage, and costs a tenth of what loading does; it keeps nobody from forging.
    """
    total = zlib.crc32(text.encode())
    for name in sorted(tensors):
        value = tensors[name].detach().cpu().contiguous()
        total = zlib.crc32(f"{name} {value.dtype} {tuple(value.shape)} ".encode(), total)
        total = zlib.crc32(value.view(-1).view(torch.uint8).numpy().data, total)
    return total


def _check_sizes(config: ModelConfig, file: Any) -> None:
    """Compare the model's size with the file's, before either takes any memory."""
    names = [name for name in file.keys() if name.startswith("model.")]  # noqa: SIM118
    found = sum(math.prod(file.get_slice(name).get_shape()) for name in names)
    if count_parameters(config) != found:
        raise ValueError(f"its model should have {count_parameters(config)} numbers, not {found}")
    if config.max_len * config.d_model > LARGEST_TABLE:
        raise ValueError(f"max_len {config.max_len} needs more than {LARGEST_TABLE} numbers")


def read_tokenizers(path: Path | str) -> tuple[Tokenizer, Tokenizer]:
    """Those of source and target, which may be one; errors as ``read_checkpoint``."""
    with _opened(path) as (description, _):
        return _tokenizers(description)


def _describe(tokenizer: Tokenizer) -> dict[str, Any]:
    if type(tokenizer) is Subwords:
        return {"subwords": tokenizer.to_json()}
    if type(tokenizer) is Vocabulary:
        return {"words": tokenizer.tokens}
    raise TypeError(f"a vocabulary is a {type(tokenizer).__name__}")  # which may split otherwise


def _tokenizers(description: dict[str, Any]) -> tuple[Tokenizer, Tokenizer]:
    source = _tokenizer(description["source"])
    return source, _tokenizer(description["target"]) if description["target"] else source


def _tokenizer(description: dict[str, Any]) -> Tokenizer:
    if "subwords" in description:
        return Subwords.from_json(description["subwords"])
    if not all(isinstance(word, str) for word in description["words"]):
        raise TypeError("a word of its vocabulary is no text")
    return Vocabulary(description["words"])
