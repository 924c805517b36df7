"""Damaged and hostile inputs end in a result or in a CourseError, never in anything else.

The same few examples each time; with HYPOTHESIS_PROFILE=long many more, and others each time.
"""

import contextlib
import faulthandler
import gzip
import io
import json
import os
import struct
import zlib

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_lib.cli import main
from course_lib.data import Vocabulary, read_json_lines, read_lines, stream_lines
from course_lib.decoding import Translator
from course_lib.errors import CourseError
from course_lib.model import Transformer, TransformerConfig
from course_lib.training import RunOptions, command, read_checkpoint, save_checkpoint
from course_lib.training.runs.metrics_log import read_metrics_log
from course_lib.training.runs.run_folder import open_run_folder

# Without the checks of types, which no user has.
pytestmark = [pytest.mark.fuzz, pytest.mark.usefixtures("own_messages")]

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"


@pytest.fixture(autouse=True)
def _no_time_limit():
    """In the long profile one test may take half an hour."""
    if LONG:
        faulthandler.cancel_dump_traceback_later()


def fuzz(examples):
    """So many examples, of whatever size and duration; 100 times as many in the long profile."""
    return settings(
        max_examples=examples * (100 if LONG else 1),
        derandomize=not LONG,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([-1, 0, 1, 2**31, 10**9, 10**13, 10**400, 1e308])
    | st.floats()
    | st.text(st.characters(), max_size=8)
    | st.sampled_from(["<eos>", "<pad>", "nan", "1", "best", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)

# Where and how bytes are damaged: a byte changed, some cut out, some put in.
DAMAGES = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 9), st.binary(max_size=9)), min_size=1, max_size=3
)


def damaged(content, damages):
    for where, cut, put in damages:
        i = int(where * len(content))
        content = content[:i] + put + content[i + cut :]
    return content


def replaced(value, where, new):
    """JSON in which one value, found by going down at random, is another."""
    if not isinstance(value, dict | list) or not value:
        return new
    keys = list(value) if isinstance(value, dict) else range(len(value))
    key = keys[where.draw(st.integers(0, len(keys) - 1))]
    result = value.copy()
    if where.draw(st.integers(0, 2)):
        result[key] = replaced(value[key], where, new)
    elif where.draw(st.booleans()):
        result[key] = new
    else:
        del result[key]
    return result


RECIPE = {"name": "toy", "corpus": "toy", "bugs": [], "optimizer": "adam"}
ROWS = [
    {"run": "1", "epoch": n, "step": 2 * n, "seconds": 1.5 * n, "loss": 1.0 / n} for n in (1, 2)
]
INFO = {
    "recipe": RECIPE,
    "id": "1",
    "data": {},
    "seed": 0,
    "total_steps": 4,
    "minutes": None,
    "step": 4,
    "finished": True,
    "seconds": 3.0,
    "losses": [3.0, 2.0, 1.5, 1.0],
    "learning_rates": [0.1, 0.1, 0.1, 0.1],
    "data_changes": [2],
    "epochs": [{name: row[name] for name in row if name != "run"} for row in ROWS],
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A checkpoint as bytes, and its header as JSON."""
    torch.manual_seed(0)
    words = ["<pad>", "<bos>", "<eos>", "<unk>", "a", "b"]
    config = TransformerConfig(
        source_vocab=6, target_vocab=6, d_model=4, n_heads=2, n_layers=1, d_ff=4, max_len=4
    )
    path = tmp_path_factory.mktemp("checkpoint") / "a.safetensors"
    vocabulary = Vocabulary(words)
    save_checkpoint(path, Translator(Transformer(config), vocabulary, vocabulary), info=INFO)
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    return content, json.loads(content[8 : 8 + length])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder for all examples of a test, which overwrite each other's files."""
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.slow
@fuzz(60)
@given(DAMAGES)
def test_a_damaged_checkpoint_is_refused_or_what_it_was(checkpoint, folder, damages):
    content, _ = checkpoint
    path = folder / "a.safetensors"
    path.write_bytes(content)
    before, info, _ = read_checkpoint(path)
    path.write_bytes(damaged(content, damages))
    try:
        after, read, _ = read_checkpoint(path)
    except CourseError:
        return
    assert read == info
    assert after.source_vocabulary.tokens == before.source_vocabulary.tokens
    for name, value in before.model.state_dict().items():
        assert torch.equal(after.model.state_dict()[name], value)


def with_header(checkpoint, description):
    """The checkpoint with another description, and a checksum that is right."""
    content, header = checkpoint
    (length,) = struct.unpack("<Q", content[:8])
    text = json.dumps(description)
    tensors = {name: value for name, value in header.items() if name != "__metadata__"}
    total = zlib.crc32(text.encode())
    data = content[8 + length :]
    for name in sorted(tensors):
        start, end = tensors[name]["data_offsets"]
        total = zlib.crc32(f"{name} torch.float32 {tuple(tensors[name]['shape'])} ".encode(), total)
        total = zlib.crc32(data[start:end], total)
    header = json.dumps(tensors | {"__metadata__": {"course": text, "crc32": str(total)}}).encode()
    return struct.pack("<Q", len(header)) + header + data


def test_the_checksum_of_these_tests_is_the_one_of_the_library(checkpoint, folder):
    description = json.loads(checkpoint[1]["__metadata__"]["course"])
    (folder / "a.safetensors").write_bytes(with_header(checkpoint, description))
    assert read_checkpoint(folder / "a.safetensors")[1]["losses"] == INFO["losses"]


@pytest.mark.slow
@fuzz(60)
@given(st.data(), JSON)
def test_a_checkpoint_with_wrong_contents_is_refused_or_translates(checkpoint, folder, where, new):
    description = replaced(json.loads(checkpoint[1]["__metadata__"]["course"]), where, new)
    path = folder / "last.safetensors"
    path.write_bytes(with_header(checkpoint, description))
    with contextlib.suppress(CourseError):
        read_checkpoint(path)[0].translate("a b")
    with contextlib.suppress(CourseError):
        is_plausible(read_metrics_log(folder))
    for resume in (False, True):
        with contextlib.suppress(CourseError), open_run_folder(folder, RunOptions(resume=resume)):
            pass
    path.unlink()


def is_plausible(log):
    assert len(log.minutes) <= 10**7
    for row in log.epochs:
        assert all(isinstance(number, int | float) for number in row.values())
    assert all(isinstance(number, float) for number in log.losses + log.learning_rates)


@fuzz(60)
@given(st.data(), JSON)
def test_a_log_with_wrong_contents_is_refused_or_plausible(folder, where, new):
    rows, info = (
        (replaced(ROWS, where, new), INFO)
        if where.draw(st.booleans())
        else (ROWS, replaced(INFO, where, new))
    )
    lines = rows if isinstance(rows, list) else [rows]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    (folder / "run.json").write_text(json.dumps(info))
    with contextlib.suppress(CourseError):
        is_plausible(read_metrics_log(folder))


@fuzz(60)
@given(DAMAGES, st.sampled_from(["metrics.jsonl", "run.json"]))
def test_a_damaged_log_is_refused_or_plausible(folder, damages, name):
    log = "".join(json.dumps(row) + "\n" for row in ROWS)
    contents = {"metrics.jsonl": log.encode(), "run.json": json.dumps(INFO).encode()}
    contents[name] = damaged(contents[name], damages)
    for each, content in contents.items():
        (folder / each).write_bytes(content)
    with contextlib.suppress(CourseError):
        is_plausible(read_metrics_log(folder))


TEXT = "".join(f"Zeile {i}, größer\n" for i in range(200)).encode()


@fuzz(60)
@given(DAMAGES, st.booleans())
def test_a_damaged_gz_is_refused_or_read(folder, damages, unpacked):
    packed = gzip.compress(TEXT, mtime=0)
    packed = gzip.compress(damaged(TEXT, damages)) if unpacked else damaged(packed, damages)
    path = folder / "a.gz"
    path.write_bytes(packed)
    for read in (read_lines, stream_lines):
        with contextlib.suppress(CourseError):
            assert all(isinstance(line, str) for line in read(path))


@fuzz(60)
@given(st.data(), JSON, DAMAGES, st.booleans())
def test_json_lines_are_refused_or_texts(folder, where, new, damages, as_bytes):
    rows = [{"de": f"Zeile {i}", "en": f"line {i}"} for i in range(3)]
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    if as_bytes:
        content = damaged(content, damages)
    else:
        content += json.dumps(replaced(rows[0], where, new)).encode()
    path = folder / "a.jsonl"
    path.write_bytes(content)
    with contextlib.suppress(CourseError):
        for pair in read_json_lines(path, ("de", "en")):
            assert f"{pair.source_text}{pair.target_text}".encode()


OPTIONS = (
    "--run --input --output --beam --out --corpus --train --valid --limit --epochs --max-steps "
    "--minutes --variant --seed --device --precision --resume --set --assignment --format --marks"
)
VALUES = "small a.txt none 0 -1 1e9 nan lr=1 lr= model.d_model=x = = -- . ~ ~x csv best 06_masks"
WORDS = st.one_of(
    st.sampled_from(OPTIONS.split()),
    st.sampled_from(VALUES.split()),
    st.text(st.characters(exclude_characters="\0/"), max_size=6),
)
HARMLESS = ("export", "plot", "recipes", "report", "similar", "train", "translate")


@pytest.mark.slow
@fuzz(60)
@given(st.sampled_from(HARMLESS), st.lists(WORDS, max_size=4))
def test_any_arguments_are_refused_or_run(folder, verb, words):
    output = io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stderr(output),
        contextlib.redirect_stdout(output),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(command, "train_and_report", lambda *arguments, **options: True)
        try:
            status = main([verb, *words])
        except SystemExit as stop:
            status = stop.code
    assert status in (0, 1, 2)
    printed = output.getvalue()
    assert "(--debug shows where)" not in printed and "Traceback" not in printed
