"""The glossary is in alphabetical order and has the standard terms."""

import re
from pathlib import Path

import pytest

GLOSSARY = Path(__file__).resolve().parents[2] / "docs" / "glossary.md"
TERMS = GLOSSARY.read_text("utf-8").partition("\n## Terms\n")[2]
ENTRY = re.compile(
    r'<a id="(?P<anchor>[a-z0-9-]+)"></a>\*\*(?P<term>[^*]+)\*\*(?: \((?P<synonyms>.+?)\))?'
    r" · \[(?:\d\d|training|benchmarks)\]\(\S+\) · (?P<text>.+)"
)
ENTRIES = [
    line for line in TERMS.splitlines() if line and not line.startswith(("### ", "[A](#a) "))
]
STANDARD = """
ablation effect; AdamW; all-reduce; argmax decoding; autocast; autoregressive decoding; batch
sampler; bfloat16; byte-pair encoding; clip_grad_norm; cosine similarity; data loader;
data-parallel; DDP; dropout; early stopping; exact match; exported; exposure bias; FlashAttention;
generated token; gradient accumulation; gradient clipping; held-out; hyperparameter; index;
inference; intervention; KV cache; last token; loss at initialisation; lr_scheduler;
max_grad_norm; maximum length; merge; metrics log; micro-batch; mixed precision; most probable;
no_sync; overfitting; past_key_values; perplexity; positional encoding; prefix; residual stream;
seq2seq; shard; shared embeddings; shuffled-source control; sine–cosine pair; skip connection;
standard deviation; start token; subword; target-only baseline; teacher forcing; TensorBoard; tied
embeddings; tokens per second; top-p; warm-up; weight tying; world size
"""


def test_every_entry_has_a_term_a_lesson_or_page_and_a_text():
    assert [line for line in ENTRIES if not ENTRY.fullmatch(line)] == []


def test_terms_are_in_alphabetical_order_under_their_letters():
    letter, words = "", []
    for line in TERMS.splitlines():
        if line.startswith("### "):
            letter = line[4:].lower()
        elif entry := ENTRY.fullmatch(line):
            words.append(re.findall(r"[a-z0-9]+", entry["term"].lower()))
            assert words[-1][0][0] == letter, entry["term"]
    assert words == sorted(words)


def test_no_term_and_no_anchor_occurs_twice():
    entries = [ENTRY.fullmatch(line) for line in ENTRIES]
    for group in ("anchor", "term"):
        names = [entry[group] for entry in entries]
        assert len(names) == len(set(names))


@pytest.mark.parametrize("term", " ".join(STANDARD.split()).split("; "))
def test_a_standard_term_can_be_found(term):
    assert term in TERMS
