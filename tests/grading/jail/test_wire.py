"""Frames: what crosses arrives as it was, and every malformed frame is a WireError."""

import contextlib
import json
import math
import random

import pytest
import torch
from safetensors.torch import save

from course_lib.checks.engine.call import Answer, Call, Failure, Unusual
from course_lib.grading.jail.inside import wire
from course_lib.grading.jail.inside.wire import HEADER, WireError, decode, encode, sizes


def crossed(value, **options):
    frame = encode(value)
    text, tensors = sizes(frame[: HEADER.size])
    body = frame[HEADER.size :]
    assert len(body) == text + tensors
    return decode(body[:text], body[text:], **options)


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 3, -(2**70), 2.5, "text", "\u00fc\n", math.inf, -math.inf),
        *((1, (2,)), [1, []], {"a": {3: None}, (1, 2): "b", Unusual("a key"): 0}, ()),
        Failure("TypeError", "no", line="line 3"),
        Unusual("a sparse tensor"),
        Answer((1.5, None), failure=Failure("E", "m"), changed_inputs=True, seconds=0.25),
        Call((1, "a"), {"b": [2]}, about="about it", gradients=True),
    ],
)
def test_plain_values_arrive_as_they_were(value):
    assert crossed(value) == value
    assert type(crossed(value)) is type(value)


def test_nan_arrives():
    assert math.isnan(crossed(math.nan))


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.float64]
)
def test_tensors_arrive_with_their_dtype_and_shape(dtype):
    for shape in ((), (0, 3), (2, 3)):
        x = torch.ones(shape, dtype=dtype)
        got = crossed([x])[0]
        assert got.dtype == dtype
        assert torch.equal(got, x)


def test_a_tensor_arrives_with_its_strides_whatever_the_default_device_is():
    torch.set_default_device("meta")
    try:
        arrived = crossed(torch.ones(3, 2, device="cpu").T, strides=True)
    finally:
        torch.set_default_device(None)
    assert arrived.stride() == (1, 2) and arrived.tolist() == [[1.0] * 3] * 2


def test_strides_and_identity_arrive_where_the_frame_is_trusted():
    x = torch.arange(6.0).view(2, 3)
    repeated = torch.arange(3.0).expand(4, 3)
    same, again, turned, wide = crossed([x, x, x.T, repeated], strides=True)
    assert same is again
    assert turned.stride() == x.T.stride()
    assert torch.equal(turned, x.T)
    assert wide.stride() == (0, 1)
    assert torch.equal(wide, repeated)
    assert crossed([x.T])[0].is_contiguous()


@pytest.mark.parametrize(
    "value",
    [{1, 2}, object(), print, b"bytes", 2**300, torch.ones(1, dtype=torch.complex64), 1j],
)
def test_what_cannot_cross_arrives_as_something_that_equals_nothing(value):
    got = crossed(Answer([value])).value[0]
    assert isinstance(got, Unusual)


def test_numpy_numbers_arrive_as_numbers():
    np = pytest.importorskip("numpy")
    assert crossed([np.int64(3), np.float32(0.5)]) == [3, 0.5]


def test_nesting_is_limited():
    deep = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(WireError, match="nested at most"):
        encode(deep)


def test_a_value_that_is_too_large_is_not_sent():
    with pytest.raises(WireError, match="a frame has at most"):
        encode(torch.zeros(wire.MOST_BYTES // 4 + 1))


BAD_TREES = [
    *("[]", "{}", '{"list": 3}', '{"nothing": []}', '{"a": [], "b": []}', "NaN", "nul", ""),
    *('{"tensor": ["0"]}', '{"tensor": []}', '{"tensor": [[]]}', '{"float": ["1"]}'),
    *('{"dict": [1]}', '{"dict": [{"list": []}, 1]}', '{"failure": [1, 2, 3]}'),
    *('{"failure": ["a"]}', '{"answer": [1, 2, false, 0]}', '{"answer": [1, null, 3, 0]}'),
    *('{"answer": [1, null, true, "x"]}', '{"unusual": [3]}', '{"call": []}'),
    *("[" * 100_000, '{"list": [' * 100 + "1" + "]}" * 100, "9" * 5000, "\ud800x"),
]


@pytest.mark.parametrize("text", BAD_TREES, ids=range(len(BAD_TREES)))
def test_a_malformed_tree_is_refused(text):
    with pytest.raises(WireError):
        decode(text.encode("utf-8", "replace"), b"")


def header(**tensors):
    text = json.dumps(tensors).encode()
    return len(text).to_bytes(8, "little") + text


BAD_TENSORS = [
    b"x",
    b"\xff" * 100,
    header(a={"dtype": "F32", "shape": [2**40], "data_offsets": [0, 4]}) + b"0000",
    header(a={"dtype": "F32", "shape": [1], "data_offsets": [0, 2**40]}) + b"0000",
    header(a={"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}) + b"0000",
    header(a={"dtype": "no", "shape": [1], "data_offsets": [0, 4]}) + b"0000",
    (2**60).to_bytes(8, "little") + b"{}",
    save({str(i): torch.zeros(1) for i in range(wire.MOST_TENSORS + 1)}),
    save({"a": torch.zeros((1,) * (wire.MOST_AXES + 1))}),
    save({"a": torch.zeros(1, dtype=torch.complex64)}),
]


@pytest.mark.parametrize("data", BAD_TENSORS, ids=range(len(BAD_TENSORS)))
def test_malformed_tensors_are_refused(data):
    with pytest.raises(WireError):
        decode(b"null", data)


def test_a_huge_frame_is_refused_before_it_is_read():
    with pytest.raises(WireError, match="a frame has at most"):
        sizes(HEADER.pack(2**32 - 1, 0))


def test_a_small_frame_cannot_stand_for_a_huge_value():
    many = json.dumps({"list": [{"tensor": ["0"]}] * (wire.MOST_TENSORS + 1)}).encode()
    with pytest.raises(WireError, match="refers to at most"):
        decode(many, save({"0": torch.zeros(3)}))
    few = json.dumps({"list": [{"tensor": ["0"]}] * 5}).encode()
    with pytest.raises(WireError, match="bytes, repeated ones too"):
        decode(few, save({"0": torch.zeros(wire.MOST_BYTES // 4, dtype=torch.uint8)}))
    with pytest.raises(WireError, match="values"):
        decode(json.dumps({"list": [1] * wire.MOST_VALUES}).encode(), b"")


def test_keys_with_one_hash_are_refused():
    def frame(keys):
        return json.dumps({"dict": [part for key in keys for part in (key, None)]}).encode()

    assert len(decode(frame(range(wire.MOST_KEYS)), b"")) == wire.MOST_KEYS
    with pytest.raises(WireError, match="at most 1000 keys"):
        decode(frame(range(wire.MOST_KEYS + 1)), b"")
    for alike in (2**61 - 1, {"tuple": [1, 2**61 - 1]}):
        with pytest.raises(WireError, match="numbers not too large"):
            decode(frame([alike]), b"")
    several = json.dumps({"list": [json.loads(frame(range(600)))] * 2}).encode()
    with pytest.raises(WireError, match="at most 1000 keys"):
        decode(several, b"")


def test_a_frame_with_any_bytes_changed_is_read_or_refused():
    frame = encode(Answer({"a": torch.arange(3), "b": [1.5, None]}, failure=Failure("E", "m")))
    text, _ = sizes(frame[: HEADER.size])
    body, source = frame[HEADER.size :], random.Random(0)
    for _ in range(500):
        changed = bytearray(body)
        for _ in range(source.randint(1, 4)):
            changed[source.randrange(len(changed))] = source.randrange(256)
        with contextlib.suppress(WireError):
            decode(bytes(changed[:text]), bytes(changed[text:]))


def test_text_in_an_answer_is_cut_off():
    got = crossed(Failure("k" * 1000, "m" * 9999, line="l" * 9999))
    assert (len(got.kind), len(got.message), len(got.line)) == (80, 500, 300)
