"""The page that translates by itself: what is in it, and which models it refuses."""

import json
import re
import struct
import zlib

import numpy as np
import pytest
import torch

from course_lib.errors import CourseError
from course_lib.model import Transformer, preset
from course_lib.viz.web.translator_page import MODEL, pack_model, translator_page

SOURCE = ["<pad>", "<unk>", "hund", "</script>"]
TARGET = ["<pad>", "<bos>", "<eos>", "<unk>", "dog"]


def tiny(**changes):
    """A small model whose weights fit into 16 bits."""
    sizes = {"source_vocab": 4, "target_vocab": 5, "d_model": 8, "d_ff": 12, "max_len": 10}
    return Transformer(preset("small", **sizes | changes)).half().float()


def test_the_header_and_all_weights_come_back_from_the_packed_model():
    model = tiny()
    packed = zlib.decompress(pack_model(model, SOURCE, TARGET, sentences=[("hund", "dog")]))
    (length,) = struct.unpack_from("<I", packed)
    header = json.loads(packed[4 : 4 + length])
    assert header["config"]["bos_id"] == 1 and header["config"]["eos_id"] == 2
    assert header["sourceWords"] == SOURCE and header["targetWords"] == TARGET
    assert header["sentences"] == [["hund", "dog"]]
    high, low = np.frombuffer(packed[4 + length :], np.uint8).reshape(2, -1).astype("<u2")
    numbers = torch.from_numpy((high << 8 | low).view("<f2").astype("f4"))
    shapes = [(rows, columns) for _, rows, columns in header["tensors"]]
    tensors = numbers.split([rows * columns for rows, columns in shapes])
    for (name, *_), stored in zip(header["tensors"], tensors, strict=True):
        assert torch.equal(stored, model.get_parameter(name).flatten())


def test_the_page_needs_no_other_file_and_shows_the_model_that_it_runs():
    page = translator_page(tiny(), SOURCE, TARGET)
    assert not re.search(r"<(link|script|img|iframe)[^>]*\b(src|href)=(?!\"data:)", page)
    assert "<!--" not in page
    assert page.count("</script>") == 2, "a word must not end a script"
    assert "It knows 1 German words" in page
    code = page[page.index("<pre") : page.index("</pre>")]
    assert "if (token !== eos_id &amp;&amp; length &lt; limit)" in code
    assert MODEL.read_text("utf-8").count("\n") == code.count("\n")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activation": "gelu"}, "models with activation='relu', got 'gelu'"),
        ({"positions": "learned"}, "models with positions='sinusoidal', got 'learned'"),
        ({"attention_bias": False}, "models with attention_bias=True, got False"),
    ],
)
def test_a_model_that_the_script_cannot_compute_is_refused(changes, message):
    with pytest.raises(CourseError, match=message):
        translator_page(tiny(**changes), SOURCE, TARGET)


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), 70_000.0])
def test_weights_beyond_all_16_bit_numbers_are_refused(weight):
    model = tiny()
    with torch.no_grad():
        model.output.bias[0] = weight
    with pytest.raises(CourseError, match=f"at most 65,504, .* largest is {weight}: did its train"):
        translator_page(model, SOURCE, TARGET)


def test_weights_that_need_32_bits_are_refused():
    model = tiny()
    with torch.no_grad():
        model.output.bias += 1e-6
    with pytest.raises(CourseError, match=r"16-bit .* need 32: round them with model\.half\(\)"):
        translator_page(model, SOURCE, TARGET)
