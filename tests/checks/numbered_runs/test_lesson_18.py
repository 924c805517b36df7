"""Runs and boxes of lesson 18: their numbers bear out the answers, computed in another way."""

import math
from itertools import pairwise

import pytest
import torch
from torch.nn import functional as F

from course_lib.checks import black_box, check, load_item, make_run
from course_lib.checks.items.what_a_token_costs import predict as caches
from course_lib.checks.items.what_a_token_costs.experiment import box
from course_lib.model import causal_mask
from course_lib.modern import absorbed_scores, cache_bytes, online_attention
from course_lib.modern.counts import cache_numbers_per_token

NUMBERS = range(40)
SCORES, VALUES = torch.tensor([0.0, 1, 2, 1, 1]), torch.tensor([4.0, 1, 2, 9, 6])


def kept(config, window, length):
    """The shapes that a layer's cache has, as tensors without memory."""
    tokens = length if window is None else min(window, length)
    shape = (config.n_kv_heads, tokens, config.d_head)
    return [torch.empty(shape, device="meta", dtype=torch.bfloat16) for _ in "kv"]


@pytest.mark.parametrize("number", NUMBERS)
def test_only_one_sentence_about_a_cache_is_true(number):
    run = caches.run.run(number)
    config, measured = run.config, make_run("18.predict", number=number)["bytes"]

    def right(length):
        layers = (kept(config, window, length) for window in config.layer_windows)
        return sum(x.numel() * x.element_size() for layer in layers for x in layer)

    quotients = {n: measured[n] / right(n) for n in measured}
    same, last = len({round(q, 6) for q in quotients.values()}) == 1, quotients[8000]
    shared = config.n_heads // config.n_kv_heads
    assert shared in (3, 4, 5)
    true = {
        "right": same and last == 1,
        "repeated": same and last == shared,
        "queries": same and last == 1 + shared / 2,
        "four_bytes": same and last == 2,
        "all_tokens": quotients[300] == 1 < quotients[1000] < last,
        "reserved": len(set(measured.values())) == 1,
        "pages": measured[1] == right(256) and measured[300] == right(512) != right(300),
    }
    assert [name for name, holds in true.items() if holds] == [run.kind]
    assert run.right == right(8000)


def test_the_text_of_a_run_shows_nothing_that_was_measured():
    text = str(make_run("18.predict", number=0))
    assert "n_kv_heads  4" in text and "153" not in text


def nine(scores, values, block):
    """What the nine errors give, in plain Python, by letter; "" for none."""
    found = {}
    for letter in ("", *box.letters):
        largest, total, summed, means = -math.inf, 0.0, 0.0, []
        for start in range(0, len(scores), block):
            s, v = scores[start : start + block], values[start : start + block]
            if letter == "i" and len(s) < block:
                break
            new = max(largest, *s)
            factor = math.exp(largest - new) if total else 0.0
            if letter == "d" and total:
                factor = math.exp(new - largest)
            if letter == "e":
                factor **= 2
            p = [math.exp(each - (max(s) if letter == "f" else new)) for each in s]
            context = sum(a * b for a, b in zip(p, v, strict=True))
            means.append(context / sum(p))
            total = total * (1 if letter in ("a", "c") else factor) + sum(p)
            summed = summed * (1 if letter in ("a", "b") else factor) + context
            if letter == "g":
                summed /= total
            largest = new
        found[letter] = summed if letter == "g" else summed / total
        if letter == "h":
            found[letter] = sum(means) / len(means)
    return found


def test_each_error_of_a_running_softmax_gives_what_it_says():
    expected = nine(SCORES.tolist(), VALUES.tolist(), 2)
    names = {"": ""} | box.letters
    for letter, value in expected.items():
        given = box.answer(names[letter], (SCORES, VALUES, 2)).value
        assert float(given) == pytest.approx(value, abs=1e-4), letter
    values = sorted(expected.values())
    assert min(b - a for a, b in pairwise(values)) > 0.1


def test_a_box_without_an_error_is_a_softmax():
    given = box.answer("", (SCORES, VALUES, 2)).value
    assert float(given) == pytest.approx(float(SCORES.softmax(0) @ VALUES), abs=1e-5)
    assert float(black_box("18.experiment", number=99)(SCORES, VALUES, 2)) > 0


def test_equal_scores_do_not_show_an_error_of_rescaling():
    flat = torch.zeros(4)
    both = [{"number": n, "error": "a", "calls": [(flat, VALUES[:4], 2)]} for n in (1, 2)]
    for each in both:
        name = box.error_of(each["number"])
        each["gave"] = [round(float(box.answer(name, each["calls"][0]).value), 2)]
    report = check("18.experiment", lambda: both)
    assert not report.passed


# What is refused: the course's own, and tensors that a task asks not to make


def borrowed_bytes(config, length, batch=1, bytes_per_number=2):
    return cache_bytes(config, length, batch=batch, bytes_per_number=bytes_per_number)


def bytes_from_a_part(config, length, batch=1, bytes_per_number=2):
    tokens = sum(min(length, window or length) for window in config.layer_windows)
    return batch * tokens * cache_numbers_per_token(config) * bytes_per_number


def borrowed_scores(query, latent, k_up, v_up):
    mixed = absorbed_scores(query, latent, k_up).softmax(-1) @ latent[:, None]
    return mixed @ v_up.unflatten(0, (query.size(1), -1)).mT


def fused_latents(query, latent, k_up, v_up):
    heads, d_head = query.size(1), query.size(3)
    asked = query @ k_up.unflatten(0, (heads, d_head))
    many = latent[:, None].expand(-1, heads, -1, -1)
    mixed = F.scaled_dot_product_attention(asked, many, many, scale=d_head**-0.5)
    return mixed @ v_up.unflatten(0, (heads, d_head)).mT


def borrowed_online(query, key, value, block):
    return online_attention(query, key, value, block=block)


def fused_groups(query, key, value, past=None, window=None):
    if past is not None:
        key, value = torch.cat((past[0], key), 2), torch.cat((past[1], value), 2)
    back = torch.arange(key.size(2) - query.size(2), key.size(2))[:, None]
    back = back - torch.arange(key.size(2))
    mask = (back >= 0) & (back < (window or key.size(2)))
    context = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, enable_gqa=True)
    return context, (key, value)


@pytest.mark.parametrize(
    ("item", "answer"),
    [
        ("18.cache_bytes", borrowed_bytes),
        ("18.cache_bytes", bytes_from_a_part),
        ("18.grouped_query_attention", fused_groups),
        ("18.latent_absorbed", borrowed_scores),
        ("18.latent_absorbed", fused_latents),
        ("18.online_attention", borrowed_online),
    ],
    ids=lambda x: getattr(x, "__name__", x),
)
def test_what_is_ready_made_earns_nothing_and_is_told_why(item, answer, tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    report = check(item, answer)
    assert report.diagnosis.failed == []
    assert (report.passed, report.points) == (False, 0)
    assert "It works, but it calls" in str(report)


def test_a_matrix_of_scores_is_told_as_what_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    item = load_item("18.online_attention")
    wrong = item.variant(frozenset({"all_scores_at_once"}))
    text = " ".join(str(check("18.online_attention", wrong)).split())
    assert "Your code makes all scores at once" in text


def keys_of_one_head_at_a_time(query, latent, k_up, v_up):
    parts = zip(query.unbind(1), k_up.chunk(query.size(1)), v_up.chunk(query.size(1)), strict=True)
    width = query.size(-1) ** 0.5
    heads = [(q @ (latent @ k.T).mT / width).softmax(-1) @ (latent @ v.T) for q, k, v in parts]
    return torch.stack(heads, dim=1)


def keys_of_one_head_and_text_at_a_time(query, latent, k_up, v_up):
    texts = zip(query.split(1), latent.split(1), strict=True)
    return torch.cat([keys_of_one_head_at_a_time(q, x, k_up, v_up) for q, x in texts])


def values_of_one_text_at_a_time(query, latent, k_up, v_up):
    by_head = v_up.unflatten(0, (query.size(1), -1))
    asked = query @ k_up.unflatten(0, (query.size(1), -1))
    weights = (asked @ latent[:, None].mT / query.size(-1) ** 0.5).softmax(-1)
    return torch.stack([w @ (x @ by_head.mT) for w, x in zip(weights, latent, strict=True)])


@pytest.mark.parametrize(
    "answer",
    [
        keys_of_one_head_at_a_time,
        keys_of_one_head_and_text_at_a_time,
        values_of_one_text_at_a_time,
    ],
)
def test_keys_of_a_single_head_or_text_are_told_as_what_they_are(answer, tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    report = check("18.latent_absorbed", answer)
    assert "Your code makes keys or values" in " ".join(str(report).split())


def block_alone(query, key, value, block):
    """It goes on with the largest score of each block."""
    hidden = ~causal_mask(query.size(2), key.size(2))
    largest = query.new_full((*query.shape[:3], 1), -math.inf)
    total, summed = 0.0, 0.0
    for start in range(0, key.size(2), block):
        part = slice(start, start + block)
        scores = query @ key[:, :, part].mT / math.sqrt(query.size(-1))
        scores = scores.masked_fill(hidden[..., part], -math.inf)
        new = scores.amax(-1, keepdim=True)
        weights, factor = (scores - new).exp(), (largest - new).exp()
        total = total * factor + weights.sum(-1, keepdim=True)
        summed = summed * factor + weights @ value[:, :, part]
        largest = new
    return summed / total


def block_softmax(query, key, value, block):
    """It takes the softmax of each block, also of one that is wholly hidden."""
    hidden = ~causal_mask(query.size(2), key.size(2))
    total, mean = query.new_full((*query.shape[:3], 1), -math.inf), 0.0
    for start in range(0, key.size(2), block):
        part = slice(start, start + block)
        scores = query @ key[:, :, part].mT / math.sqrt(query.size(-1))
        scores = scores.masked_fill(hidden[..., part], -math.inf)
        own = scores.logsumexp(-1, keepdim=True)
        both = torch.logaddexp(total, own)
        context = scores.softmax(-1) @ value[:, :, part]
        mean = mean * (total - both).exp() + context * (own - both).exp()
        total = both
    return mean


@pytest.mark.parametrize("answer", [block_alone, block_softmax])
def test_nan_of_a_hidden_block_is_told_as_what_it_is(answer, tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    text = " ".join(str(check("18.online_attention", answer)).split())
    assert "A block of which a query sees no key makes its result NaN" in text


def test_a_prediction_that_came_exactly_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    letters = dict(zip(caches.KINDS, "abcdefg", strict=True))
    answer = []
    for number in (0, 2):
        run = caches.run.run(number)
        answer.append({"number": number, "right": run.right, "kind": letters[run.kind]})
        answer[-1]["predicted"] = run.measured[-1] / 1e6 if number else run.right / 1e6
    lines = str(check("18.predict", lambda: answer))
    assert "You predicted 245.76 million bytes. " in " ".join(lines.split())
    assert "and that is exactly what came." in " ".join(lines.split())
