"""A translator small enough to be packed in no time, and weights as a page stores them."""

import torch

from course_lib.data import Vocabulary
from course_lib.decoding import Translator
from course_lib.model import Transformer, preset
from course_lib.model.eight_bits import dequantize, quantize

SOURCE = ["<pad>", "<unk>", "hund", "</script>"]
TARGET = ["<pad>", "<bos>", "<eos>", "<unk>", "dog"]


def tiny(**changes):
    """Its weights fit into 16 bits, and one of its words would end a script."""
    sizes = {"source_vocab": 4, "target_vocab": 5, "d_model": 8, "d_ff": 12, "max_len": 10}
    model = Transformer(preset("small", **sizes | changes)).half().float()
    return Translator(model, Vocabulary(SOURCE), Vocabulary(TARGET))


def rounded(translator, *, bits):
    """The translator, its weights rounded to what a page with so many bits holds."""
    with torch.no_grad():
        for parameter in translator.model.parameters():
            eight = bits == 8 and parameter.dim() == 2
            parameter.copy_(dequantize(*quantize(parameter)) if eight else parameter.half())
    return translator
