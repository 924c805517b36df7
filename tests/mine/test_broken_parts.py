# ruff: noqa: E501 - what is put into a solution stands in one line
"""Parts that are wrong or slow: the check keeps them out, or `course mine` finds and names them."""

import json

import pytest

from course_lib.mine.collect import collect
from course_lib.mine.parts import PARTS
from course_lib.mine.trial import try_parts

# The part, what to replace in the solution, and by what. With several replacements, each is made.
KEPT_OUT = {
    "sines before cosines": ("sinusoidal_positions", "dim=-1).flatten(1)", "dim=1).flatten(1)"),
    "another base": (
        "sinusoidal_positions",
        "10_000.0 ** -(torch.arange(0, d_model, 2)",
        "1_000.0 ** -(torch.arange(0, d_model, 2)",
    ),
    "no factor on the token": ("TransformerEmbedding", "embedded * scale", "embedded"),
    "the factor on both": (
        "TransformerEmbedding",
        "embedded * scale + self.encodings[positions]",
        "(embedded + self.encodings[positions]) * scale",
    ),
    "positions that count pads": (
        "TransformerEmbedding",
        "(real.cumsum(dim=1) - 1).clamp(min=0)",
        "real.long().fill_(1).cumsum(dim=1) - 1",
    ),
    "a linear feed-forward": ("FeedForward", "self.expand(x).relu()", "self.expand(x)"),
    "a residual of its own": (
        "FeedForward",
        "return self.contract(self.dropout(hidden))",
        "return x + self.contract(self.dropout(hidden))",
    ),
    "no scale": ("MultiHeadAttention", " / math.sqrt(query.size(-1))", ""),
    "softmax over the queries": (
        "MultiHeadAttention",
        "scores.softmax(dim=-1)",
        "scores.softmax(dim=-2)",
    ),
    "values of the query": ("MultiHeadAttention", "self.v_proj(value)", "self.v_proj(query)"),
    "heads merged without a transpose": (
        "MultiHeadAttention",
        "x.transpose(1, 2).flatten(2)",
        "x.reshape(x.size(0), x.size(2), -1)",
    ),
    "no output projection": (
        "MultiHeadAttention",
        "self.out_proj(merge_heads(context))",
        "merge_heads(context)",
    ),
    "True at the padding": ("padding_mask", "(tokens != pad_id)[:", "(tokens == pad_id)[:"),
    "rows of pads, not columns": ("padding_mask", "[:, None, None, :]", "[:, None, :, None]"),
    "the future alone": (
        "decoder_mask",
        "padding_mask(tokens, pad_id) & causal_mask",
        "causal_mask",
    ),
    "or in place of and": ("decoder_mask", "pad_id) & causal_mask", "pad_id) | causal_mask"),
    "pre-norm": (
        "EncoderBlock",
        "return self.norm_2(x + self.dropout(self.feed_forward(x)))",
        "return x + self.dropout(self.feed_forward(self.norm_2(x)))",
    ),
    "no residual at the memory": (
        "DecoderBlock",
        "self.norm_2(x + self.dropout(self.cross_attention",
        "self.norm_2(self.dropout(self.cross_attention",
    ),
    "a target that reads itself twice": (
        "DecoderBlock",
        "self.cross_attention(x, memory, memory, memory_mask)",
        "self.cross_attention(x, x, x, target_mask)",
    ),
    "labels that are the input": (
        "teacher_forcing",
        "target[:, :-1], target[:, 1:]",
        "target[:, :-1], target[:, :-1]",
    ),
    "pads in the mean": (
        "masked_cross_entropy",
        "return (costs * real).sum() / real.sum().clamp(min=1)",
        "return costs.mean()",
    ),
    "gradients that add up": ("train_step", "    optimizer.zero_grad()\n", ""),
    "a rate that never falls": (
        "inverse_sqrt_lr",
        "min(step**-0.5, step * warmup**-1.5)",
        "min(warmup**-0.5, step * warmup**-1.5)",
    ),
    "an end that is forgotten": (
        "greedy_decode",
        "ended = ended | (token == eos_id)",
        "ended = token == eos_id",
    ),
    "the weakest hypothesis": ("beam_search", "reverse=True,", "reverse=False,"),
    "the last row is a word": ("align", "weights[:-1].argmax", "weights.argmax"),
}
FOUND = {
    "the mask of an earlier batch": (
        "MultiHeadAttention",
        "        context, _ = scaled",
        "        kept = self.__dict__.setdefault('kept', {})\n        if mask is not None:\n            mask = kept.setdefault((self.training, query.shape[0] > 30, mask.shape[-2] > 8, mask.shape[-1] > 8), mask) if query.shape[0] > 30 else mask\n        context, _ = scaled",
    ),
    "the padding of the batch before": (
        "padding_mask",
        "    return (tokens != pad_id)[:, None, None, :]",
        "    kept = padding_mask.__dict__.setdefault('kept', {})\n    if len(tokens) > 20:\n        return kept.setdefault(tuple(tokens.shape), (tokens != pad_id)[:, None, None, :])\n    return (tokens != pad_id)[:, None, None, :]",
    ),
    "keys in a loop over everything": (
        "MultiHeadAttention",
        "    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))  # (B, H, Q, K)",
        "    scores = torch.stack([torch.stack([torch.stack([torch.stack([(q * k).sum() for k in ks]) for q in qs]) for qs, ks in zip(hq, hk)]) for hq, hk in zip(query, key)]) / math.sqrt(query.size(-1))",
    ),
    "a position at a time": (
        "FeedForward",
        "        hidden = self.expand(x).relu()",
        "        hidden = torch.stack([torch.stack([self.expand(v).relu() for v in row]) for row in x.reshape(-1, x.size(-2), x.size(-1))]).reshape(*x.shape[:-1], -1)",
    ),
    "a gradient that is cut in large batches": (
        "FeedForward",
        "        hidden = self.expand(x).relu()",
        "        hidden = self.expand(x.detach() if len(x) > 30 else x).relu()",
    ),
    "a mask that sees 10 tokens": (
        "decoder_mask",
        "    return padding_mask(tokens, pad_id) & causal_mask(tokens.size(1))",
        "    mask = padding_mask(tokens, pad_id) & causal_mask(tokens.size(1))\n    if tokens.size(1) > 10:\n        mask[..., 10:, :2] = False\n    return mask",
    ),
    "a table of few positions": (
        "TransformerEmbedding",
        "positions = (real.cumsum(dim=1) - 1).clamp(min=0)",
        "positions = (real.cumsum(dim=1) - 1).clamp(min=0, max=10 if len(tokens) > 30 else 10_000)",
    ),
    "dropout that is always on in a stack": (
        "EncoderBlock",
        "        x = self.norm_1(x + self.dropout(self.self_attention(x, x, x, mask)))",
        "        x = self.norm_1(x + self.dropout(self.self_attention(x, x, x, mask)) * (0.99 if len(x) > 30 else 1))",
    ),
    "a memory from the first batch": (
        "DecoderBlock",
        "        x = self.norm_1(x + self.dropout(self.self_attention(x, x, x, target_mask)))",
        "        if len(memory) > 30:\n            memory = self.__dict__.setdefault('memory', memory.detach())\n        x = self.norm_1(x + self.dropout(self.self_attention(x, x, x, target_mask)))",
    ),
    "a loss that forgets its graph in large batches": (
        "masked_cross_entropy",
        "    log_p = logits.log_softmax(dim=-1)",
        "    log_p = (logits * (0.5 if len(logits) > 20 else 1)).log_softmax(dim=-1)",
    ),
    "a step that steps twice": (
        "train_step",
        "    optimizer.step()\n",
        "    optimizer.step()\n    if len(batch.target) > 20:\n        optimizer.step()\n",
    ),
    "pairs that are sorted in place": (
        "collate",
        "    return pad_rows(",
        "    if len(pairs) > 20:\n        pairs.sort(key=lambda pair: len(pair.target))\n    return pad_rows(",
    ),
    "a rate that is flat after a while": (
        "inverse_sqrt_lr",
        "    return d_model**-0.5",
        "    if d_model == 128 and step > 700:\n        return 1e-3\n    return d_model**-0.5",
    ),
    "a search that ends at 12 tokens": (
        "greedy_decode",
        "        for _ in range(max_len):  #",
        "        for _ in range(min(max_len, 6 if max_len == 20 else max_len)):  #",
    ),
    "a beam that goes on with the weakest in long sentences": (
        "beam_search",
        "            kept = ranked[:width]",
        "            kept = ranked[:width][-1:] if source.size(1) > 6 else ranked[:width]",
    ),
}


def broken(work, part, *changes):
    """A lesson's solution with a part of it changed, as a learner's notebook."""
    work.solve(PARTS[part].lesson)
    path = work.notebook(PARTS[part].lesson)
    notebook = json.loads(path.read_text("utf-8"))
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        cells = [
            c for c in notebook["cells"] if c["cell_type"] == "code" and old in "".join(c["source"])
        ]
        assert cells, old
        for cell in cells:
            cell["source"] = "".join(cell["source"]).replace(old, new)
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return collect(work.folder)


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.parametrize("name", KEPT_OUT)
def test_a_part_that_fails_its_check_is_kept_out_and_the_reason_is_named(name, work):
    part, *changes = KEPT_OUT[name]
    found = broken(work, part, *changes)
    item = PARTS[part].item
    assert item not in found.own
    assert "the test “" in found.why_not(item)


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.parametrize("name", FOUND)
def test_a_part_that_passes_its_check_is_found_in_what_it_is_used_for(name, work):
    part, *changes = FOUND[name]
    found = broken(work, part, *changes)
    library = found.library()
    assert library.is_own(part), found.why_not(PARTS[part].item)
    findings = dict(try_parts(library.with_own([part])))
    assert findings[part] is not None
