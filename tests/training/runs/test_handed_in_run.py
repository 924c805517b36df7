"""A run that is handed in: read as a file that anybody may have written."""

import json
import os
import shutil
import struct

import pytest
import torch
from safetensors.torch import load_file, save, save_file

from course_lib.errors import CourseError
from course_lib.run_options import HANDED_IN
from course_lib.training.runs.handed_in_run import (
    LOG,
    MOST_ROWS,
    WEIGHTS,
    digest_of_run,
    digest_of_weights,
    hand_in,
    handed_in_with,
    read_handed_in_run,
    run_at_hand,
)
from tools import ROOT

RUN = ROOT / "solutions" / "11_training" / HANDED_IN


@pytest.fixture
def folder(tmp_path):
    """A copy of the run that the solution hands in."""
    shutil.copytree(RUN, tmp_path / HANDED_IN)
    return tmp_path / HANDED_IN


def test_the_log_and_the_weights_of_a_run_are_read(folder):
    run = read_handed_in_run(folder)
    assert len(run.rows) >= 2 and run.best in run.rows
    assert run.valid_loss == pytest.approx(run.best["valid_loss"], rel=0.01)
    assert len(run.translations) == 100


def test_no_translation_depends_on_rounding(folder):
    run = read_handed_in_run(folder)
    assert run.translations == run.rounded_translations


def rows(folder):
    return [json.loads(line) for line in (folder / LOG).read_text("utf-8").splitlines()]


def log(change):
    """Replace the log by what a function makes of its rows: other rows, or a text."""

    def applied(folder):
        made = change(rows(folder))
        text = made if isinstance(made, str) else "".join(json.dumps(row) + "\n" for row in made)
        (folder / LOG).write_text(text, encoding="utf-8")

    return applied


def number(name, value, row=-1):
    """Put a value into a row of the log."""

    def change(rows):
        rows[row][name] = value
        return rows

    return log(change)


def weights(change):
    """Replace the weights by what a function makes of them."""

    def applied(folder):
        tensors = load_file(folder / WEIGHTS)
        save_file(change(tensors) or tensors, folder / WEIGHTS)

    return applied


def data(change):
    """Replace the bytes of the weights' file."""

    def applied(folder):
        (folder / WEIGHTS).write_bytes(change((folder / WEIGHTS).read_bytes()))

    return applied


def link(name):
    """Replace a file by a link to a copy of it elsewhere."""

    def applied(folder):
        elsewhere = folder.parent / f"elsewhere-{name}"
        (folder / name).rename(elsewhere)
        (folder / name).symlink_to(elsewhere)

    return applied


def folder_as_link(folder):
    folder.rename(folder.parent / "of-another")
    folder.symlink_to(folder.parent / "of-another")


def pipe(name):
    def applied(folder):
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return applied


def header(text):
    """A file with this header and no numbers."""
    return lambda _: struct.pack("<Q", len(text)) + text.encode()


def _another_shape(tensors):
    name = next(iter(tensors))
    tensors[name] = torch.zeros(1, *tensors[name].shape, dtype=torch.float16)


def _not_finite(value):
    def change(tensors):
        next(iter(tensors.values())).view(-1)[0] = value

    return change


HUGE = '{"a":{"dtype":"F16","shape":[1000000000000],"data_offsets":[0,2000000000000]}}'
OVERLAP = (
    '{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},'
    '"b":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}}'
)
DAMAGE = {
    "no log": lambda folder: (folder / LOG).unlink(),
    "no weights": lambda folder: (folder / WEIGHTS).unlink(),
    "no folder": shutil.rmtree,
    "the log is a link": link(LOG),
    "the weights are a link": link(WEIGHTS),
    "the folder is a link": folder_as_link,
    "the log is a pipe": pipe(LOG),
    "the weights are a pipe": pipe(WEIGHTS),
    "an empty log": log(lambda _: ""),
    "one validation": log(lambda rows: rows[:1]),
    "a log of too many rows": log(
        lambda rows: [r | {"step": i} for i in range(1, MOST_ROWS + 2) for r in rows[:1]]
    ),
    "a log of many megabytes": log(lambda _: "x" * (2 << 20)),
    "a log cut off": log(lambda rows: json.dumps(rows[0]) + "\n" + json.dumps(rows[1])[:40]),
    "a log that is no text": lambda folder: (folder / LOG).write_bytes(b"\xff\xfe\x00"),
    "rows that are lists": log(lambda rows: [list(row.values()) for row in rows]),
    "rows that are nested deeply": log(lambda _: ("[" * 20_000 + "\n") * 2),
    "a row without its step": log(
        lambda rows: [{k: v for k, v in r.items() if k != "step"} for r in rows]
    ),
    "a text as a number": number("valid_loss", "0.1"),
    "True as a number": number("valid_exact", True),
    "a loss that is NaN": number("valid_loss", float("nan")),
    "an infinite loss": number("loss", float("inf")),
    "a loss below zero": number("valid_loss", -1.0),
    "a step between two steps": number("step", 1149.5),
    "a step of 10¹⁰": number("step", 10**10),
    "an integer with a thousand digits": number("valid_loss", 10**1000),
    "steps in another order": log(lambda rows: rows[::-1]),
    "a step twice": log(lambda rows: [*rows, rows[-1]]),
    "weights cut off": data(lambda content: content[:-100]),
    "empty weights": data(lambda _: b""),
    "weights of many megabytes": data(lambda content: content * 3),
    "bytes after the weights": data(lambda content: content + bytes(100)),
    "a header that promises terabytes": data(header(HUGE)),
    "a header that is longer than the file": data(lambda _: struct.pack("<Q", 2**40)),
    "a header that is no JSON": data(header("{")),
    "a header that is nested deeply": data(header("[" * 100_000)),
    "tensors that overlap": data(lambda _: header(OVERLAP)(_) + bytes(4)),
    "a pickle": data(lambda _: b"\x80\x04cos\nsystem\n(S'true'\ntR."),
    "a tensor more": weights(lambda tensors: tensors | {"more": torch.zeros(1).half()}),
    "a tensor less": weights(lambda tensors: dict(list(tensors.items())[1:])),
    "a tensor of another shape": weights(_another_shape),
    "weights in 32 bits": data(lambda _: save({"a": torch.zeros(3)})),
    "whole numbers": weights(lambda tensors: {k: v.to(torch.int16) for k, v in tensors.items()}),
    "a weight that is NaN": weights(_not_finite(float("nan"))),
    "an infinite weight": weights(_not_finite(float("inf"))),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_no_run_is_refused_in_a_sentence(damage, folder):
    DAMAGE[damage](folder)
    with pytest.raises(CourseError, match=r"^expected .*: .*") as refused:
        read_handed_in_run(folder)
    assert len(str(refused.value)) < 600 and "\n" not in str(refused.value)


def test_a_run_is_known_by_its_files(folder):
    before = digest_of_run(folder.parent), digest_of_weights(folder.parent)
    number("loss", 3.0)(folder)
    assert digest_of_run(folder.parent) != before[0]
    assert digest_of_weights(folder.parent) == before[1]
    (folder / LOG).unlink()
    assert digest_of_run(folder.parent).startswith("expected metrics.jsonl")
    assert digest_of_weights(folder.parent) == before[1]
    (folder / WEIGHTS).unlink()
    assert digest_of_weights(folder.parent) == ""


def test_the_run_at_hand_lies_beside_the_notebook_or_where_grading_says(folder, monkeypatch):
    with pytest.raises(CourseError, match="hand_in_run"):
        run_at_hand()
    with handed_in_with(folder.parent):
        assert run_at_hand().rows
    monkeypatch.chdir(folder.parent)
    assert run_at_hand().rows


def test_a_run_without_a_validation_cannot_be_handed_in(tmp_path):
    with pytest.raises(CourseError, match="come to its first validation"):
        hand_in(tmp_path, tmp_path / HANDED_IN)
    assert not (tmp_path / HANDED_IN).exists()
