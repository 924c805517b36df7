"""For a module whose error has no name, the first sublayer that gets or gives other numbers."""

import pytest

from course_lib.checks import load_item
from course_lib.checks.diagnosis.diagnose import SEED
from course_lib.checks.diagnosis.sublayers import find_first_sublayer
from course_lib.checks.diagnosis.trial import try_probe
from course_lib.checks.items.blocks.block_parts import DecoderBlock
from course_lib.model import Transformer


class MemoryNormed(DecoderBlock):
    def forward(self, x, memory, target_mask=None, memory_mask=None):
        x = self.norm_1(x + self.self_attention(x, x, x, target_mask))
        memory = self.norm_2(memory)
        x = self.norm_2(x + self.cross_attention(x, memory, memory, memory_mask))
        return self.norm_3(x + self.feed_forward(x))


class FeedForwardFromBefore(DecoderBlock):
    def forward(self, x, memory, target_mask=None, memory_mask=None):
        x = self.norm_1(x + self.self_attention.forward(x, x, x, mask=target_mask))
        y = self.norm_2(x + self.cross_attention(x, memory, memory, memory_mask))
        return self.norm_3(y + self.feed_forward(x))


class DoublesTheEnd(DecoderBlock):
    def forward(self, *inputs, **masks):
        return 2 * super().forward(*inputs, **masks).cos()


class WithoutFeedForward(DecoderBlock):
    def forward(self, x, memory, target_mask=None, memory_mask=None):
        x = self.norm_1(x + self.self_attention(x, x, x, target_mask))
        x = self.norm_2(x + self.cross_attention(x, memory, memory, memory_mask))
        return self.norm_3(x)


class SquaresMemory(Transformer):
    def decode(self, target, memory, source):
        return super().decode(target, memory.square(), source)


def told(item_id, subject):
    item = load_item(item_id)
    trials = [
        try_probe(probe, item, subject=subject, draw_seed=SEED + i)
        for i, probe in enumerate(item.probes)
    ]
    return find_first_sublayer(item, subject, trials=trials)


@pytest.mark.parametrize(
    "subject, words",
    [
        (MemoryNormed, "in what goes into `cross_attention`: its `key`"),
        (FeedForwardFromBefore, "in what goes into `feed_forward`: its `x`"),
        (DoublesTheEnd, "The difference comes after `norm_3`"),
    ],
)
def test_the_first_difference_is_located(subject, words):
    assert words in told("07.decoder_block", subject)


def test_it_is_located_in_a_whole_model():
    assert "in what goes into `decoder`: its `memory`" in told("08.transformer", SquaresMemory)


def test_nothing_is_told_of_a_module_that_calls_other_parts():
    assert told("07.decoder_block", WithoutFeedForward) == ""


def test_nothing_is_told_of_a_function():
    assert told("06.padding_mask", lambda tokens, pad_id: tokens == pad_id) == ""
