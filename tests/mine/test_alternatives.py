"""Right answers that are written in other ways work in a model, too; slow ones are told as slow."""

import pytest

from course_lib.checks.table import TOPICS
from course_lib.mine import trial
from course_lib.mine.library import Library, run_source
from course_lib.mine.parts import PARTS
from course_lib.mine.trial import try_part
from tests.checks.test_items import alternatives
from tests.mine.conftest import sources_of_solutions

# What a part of the model calls in its own notebook.
INSIDE = {
    "04.scaled_dot_product_attention": "MultiHeadAttention",
    "04.split_heads": "MultiHeadAttention",
    "04.merge_heads": "MultiHeadAttention",
    "06.causal_mask": "decoder_mask",
}
BY_ITEM = {part.item: part.name for part in PARTS.values() if part.step == "model"}
CASES = [
    (item, answer)
    for lesson in ("01", "02", "03", "04", "06", "07", "08")
    for item, answers in alternatives(TOPICS[lesson]).items()
    if item in BY_ITEM or item in INSIDE
    for answer in answers
]
SLOW = {  # loops over tokens, sentences or heads
    "attention_query_by_query",
    "split_by_loops",
    "merge_by_loops",
    "NetworkPositionByPosition",
    "EncoderSentenceBySentence",
    "TransformerWithLoops",
    "EmbeddingByLoops",
    "EmbeddingByOneHot",
    "padding_by_loops",
    "decoder_by_loops",
}


def name_of(case):
    return getattr(case, "__name__", case)


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("item", "answer"), CASES, ids=lambda case: getattr(case, "__name__", case)
)
def test_another_right_answer_works_in_a_model(item, answer, monkeypatch):
    monkeypatch.setattr(trial, "SECONDS", 15.0)  # the slowest takes minutes
    lesson, part = item[:2], BY_ITEM.get(item) or INSIDE[item]
    library = Library(sources_of_solutions(), [part])
    module = run_source(sources_of_solutions()[lesson], library.folder, lesson, library)
    name = BY_ITEM.get(item) or item[3:]
    setattr(module, name, answer)
    library._modules[lesson] = module
    finding = try_part(library)
    assert finding is None or (finding.slow and answer.__name__ in SLOW), finding
