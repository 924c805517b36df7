"""The header of a GGUF file, read with care: the file may come from anywhere.

    "GGUF", version, number of tensors, number of fields
    fields:  name, type, value        (a value may be a list of values of one type)
    tensors: name, shape, type, offset
    padding to a multiple of 32 bytes, then the numbers of the tensors

Each count and length is compared with what is left of the file before anything is made of that
size. The format: github.com/ggml-org/ggml, docs/gguf.md.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

FORMATS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True))
STRING, LIST = 8, 9
MAX_FIELDS, MAX_TENSORS, MAX_LIST = 10_000, 100_000, 4_000_000


class TensorInfo(NamedTuple):
    """Where a tensor lies in the file; its shape as PyTorch has it, rows first."""

    shape: tuple[int, ...]
    kind: int  # GGML's number of the type
    offset: int  # from the start of the file


class Header(NamedTuple):
    """All that a file says before its numbers."""

    fields: dict[str, Any]
    tensors: dict[str, TensorInfo]
    n_bytes: int  # of the whole file


class DamagedFileError(ValueError):
    """The file is not what its format promises."""


def read_header(path: Path) -> Header:
    """Read fields and tensor descriptions of a GGUF file, version 2 or 3.

    Raises:
        DamagedFileError: it is not a GGUF file, is cut off, or a count, length or offset in it is
            impossible.
    """
    if path.exists() and not path.is_file():  # of a pipe, opening would wait for ever
        raise DamagedFileError(f"{path} must be a GGUF file, got a folder, a pipe or a device")
    with path.open("rb") as file:
        reader = _Reader(file, path)
        if file.read(4) != b"GGUF":
            raise DamagedFileError(f"{path} must begin with the letters GGUF: it is another format")
        version = reader.number("I")
        if version not in (2, 3):
            raise DamagedFileError(f"{path} must be GGUF version 2 or 3, got {version}")
        n_tensors = reader.count("tensors", MAX_TENSORS)
        n_fields = reader.count("fields", MAX_FIELDS)
        fields: dict[str, Any] = {}
        for _ in range(n_fields):
            name = reader.text()
            if name in fields:
                raise DamagedFileError(f"{path} has the field {name[:60]!r} twice")
            fields[name] = reader.value(reader.number("I"))
        described = [reader.tensor() for _ in range(n_tensors)]
        alignment = fields.get("general.alignment", 32)
        if type(alignment) is not int or not 1 <= alignment <= 4096:
            raise DamagedFileError(f"{path}: general.alignment must be 1 … 4096, got {alignment!r}")
        if odd := [name for name, _, _, at in described if at % alignment]:
            raise DamagedFileError(f"{odd[0][:60]!r} must begin at a multiple of {alignment} bytes")
        start = math.ceil(file.tell() / alignment) * alignment
    tensors = {name: TensorInfo(shape, kind, start + at) for name, shape, kind, at in described}
    if len(tensors) < n_tensors:
        raise DamagedFileError(f"{path} has two tensors of one name")
    return Header(fields, tensors, reader.n_bytes)


class _Reader:
    """Numbers, texts and lists from a file, none longer than what is left of it."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.file, self.path = file, path
        self.n_bytes = path.stat().st_size

    def take(self, n_bytes: int) -> bytes:
        left = self.n_bytes - self.file.tell()
        if n_bytes > left:
            raise DamagedFileError(
                f"{self.path} announces {n_bytes} bytes where {left} are left: it is cut off or "
                "damaged; download it again"
            )
        return self.file.read(n_bytes)

    def number(self, letter: str) -> Any:
        return struct.unpack(f"<{letter}", self.take(struct.calcsize(f"<{letter}")))[0]

    def count(self, what: str, limit: int) -> int:
        number: int = self.number("Q")
        if number > limit:
            raise DamagedFileError(
                f"{self.path} announces {number} {what}, more than {limit}: it is damaged"
            )
        return number

    def text(self) -> str:
        return self.take(self.number("Q")).decode("utf-8", errors="replace")

    def value(self, kind: int) -> Any:
        if kind == STRING:
            return self.text()
        if kind == LIST:
            kind, length = self.number("I"), self.count("values in a list", MAX_LIST)
            if kind == STRING:
                return [self.text() for _ in range(length)]
            letter = self._letter(kind)
            data = self.take(length * struct.calcsize(f"<{letter}"))
            return list(struct.unpack(f"<{length}{letter}", data))
        return self.number(self._letter(kind))

    def _letter(self, kind: int) -> str:
        if kind not in FORMATS:
            raise DamagedFileError(f"{self.path} has a value of type {kind}, which is not known")
        return FORMATS[kind]

    def tensor(self) -> tuple[str, tuple[int, ...], int, int]:
        name, n_axes = self.text(), self.number("I")
        if not 1 <= n_axes <= 4:
            raise DamagedFileError(f"{self.path}: a tensor has 1 to 4 axes, got {n_axes}")
        shape = tuple(reversed([self.number("Q") for _ in range(n_axes)]))  # fastest axis first
        return name, shape, self.number("I"), self.number("Q")
