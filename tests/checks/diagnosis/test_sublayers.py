"""For a module whose error has no name, the first sublayer that gets or gives other numbers."""

import pytest
import torch
from torch import nn

from course_lib.checks import load_item
from course_lib.checks.diagnosis.diagnose import SEED
from course_lib.checks.diagnosis.sublayers import find_first_sublayer
from course_lib.checks.diagnosis.trial import try_probe
from course_lib.checks.engine.call import Call
from course_lib.checks.engine.item import Item, Probe
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


class CutsTheGradient(DecoderBlock):
    def forward(self, x, memory, target_mask=None, memory_mask=None):
        return super().forward(x, memory.detach(), target_mask, memory_mask)


class MasksExchanged(DecoderBlock):
    def forward(self, x, memory, target_mask=None, memory_mask=None):
        return super().forward(x, memory, memory_mask, target_mask)


class KeepsItsParts(DoublesTheEnd):
    kept = ()

    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        KeepsItsParts.kept = tuple(self.children())


class Settings:
    def __init__(self, factor):
        self.factor = factor


class Part(nn.Module):
    def forward(self, x, settings=None):
        return x if settings is None else x * settings.factor


class WithSettings(nn.Module):
    factor = 1

    def __init__(self):
        super().__init__()
        self.part = Part()

    def forward(self, x):
        return self.part(x, Settings(self.factor))


class WithOtherSettings(WithSettings):
    factor = 2


class CallsTwice(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()

    def forward(self, x):
        return self.part(x) + 2 * self.part(-x)


class CallsTheOtherFirst(CallsTwice):
    def forward(self, x):
        return 3 * self.part(-x) + self.part(x)


def item_of(reference):
    return Item(
        "07.decoder_block",
        reference=reference,
        probes=[Probe("it is right", lambda draw: [Call((torch.ones(2, 3),))])],
        hints=("", "", ""),
        use=lambda subject, x: subject()(x),
    )


def told(item_id, subject):
    return told_of(load_item(item_id), subject)


def told_of(item, subject):
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


def test_nothing_is_told_where_only_gradients_are_wrong():
    assert told("07.decoder_block", CutsTheGradient) == ""


def test_a_part_that_a_learner_keeps_is_as_before():
    assert "after `norm_3`" in told("07.decoder_block", KeepsItsParts)
    assert KeepsItsParts.kept and not any("forward" in vars(part) for part in KeepsItsParts.kept)


def test_arguments_that_cannot_be_compared_are_not_called_the_same():
    assert told_of(item_of(WithSettings), WithOtherSettings) == ""


def test_a_part_that_is_called_twice_in_another_order_is_no_difference():
    assert told_of(item_of(CallsTwice), CallsTheOtherFirst) == ""


def test_a_mask_that_is_wrong_is_not_told_to_be_computed():
    assert "its `mask`. Which mask do you pass" in told("07.decoder_block", MasksExchanged)


def test_what_is_told_names_the_parts_that_were_compared():
    assert "the submodules that both answers have" in told("07.decoder_block", DoublesTheEnd)
