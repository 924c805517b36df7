"""The comparison with another program's model, with a small model in place of both."""

import re
from types import SimpleNamespace

import pytest
import torch

from course_lib.modern import DecoderConfig, DecoderOnly
from tools.claims import published_referee


class Letters:
    """A tokenizer whose tokens are letters."""

    def encode(self, text):
        return SimpleNamespace(ids=[ord(letter) % 128 for letter in text])

    def decode(self, ids):
        return "".join(map(chr, ids))


@pytest.fixture
def compare(monkeypatch, capsys):
    """``compare(referee)``: what the command prints if the other program has this model."""

    def run(referee):
        monkeypatch.setattr(published_referee, "load_gguf", lambda: (small(), Letters()))
        monkeypatch.setattr(published_referee, "published_model_path", lambda: "file.gguf")
        monkeypatch.setattr(
            published_referee,
            "load_referee",
            lambda path: lambda tokens: SimpleNamespace(logits=referee(tokens)),
        )
        assert published_referee.main([]) == 0
        return capsys.readouterr().out

    return run


def small(**changes):
    torch.manual_seed(0)
    sizes = {"vocab": 128, "d_model": 16, "d_ff": 24, "n_heads": 4, "n_layers": 2, "max_len": 400}
    return DecoderOnly(DecoderConfig(**sizes | changes)).eval()


@pytest.mark.slow
def test_the_same_model_gives_the_same_losses_and_the_same_texts(compare):
    printed = compare(small())
    assert "equal continuations of 20 tokens: 20 of 20" in printed
    for line in re.findall(r"loss .*", printed):
        ours, theirs = re.findall(r"\d+\.\d{4}", line)
        assert ours == theirs


@pytest.mark.slow
def test_another_base_of_the_rotation_is_seen(compare):
    printed = compare(small(rope_base=10.0))
    assert max(map(float, re.findall(r"difference of a token (\S+)", printed))) > 1e-3
