"""An answer is tried where what is ready-made is taken away: it passes by itself or not."""

import inspect
import json
from dataclasses import replace

import pytest

from course_lib.grading.jail.item_run import SubmissionRun
from course_lib.grading.submissions.exercise import load_exercise
from tests.checks.alternatives.feed_forward import norm_by_torch
from tests.checks.alternatives.honest_numbers import bleu_with_counters, ngrams
from tests.grading.notebooks_to_hand_in import ROOT, answered, points, with_cell
from tests.item_points import in_full

OWN = """\
def layer_norm(x, weight, bias, eps=1e-5):
    y = x - x.mean(-1, keepdim=True)
    return weight * y / (y.var(-1, unbiased=False, keepdim=True) + eps).sqrt() + bias
"""
BORROWED = """\
def layer_norm(x, weight, bias, eps=1e-5):
    return CALL
"""
ATTENDS = """\
def scaled_dot_product_attention(query, key, value, mask=None):
    one = torch.eye(key.size(-2), dtype=query.dtype).expand(*key.shape[:-2], -1, -1)
    return CALL(query, key, value, mask), CALL(query, key, one, mask)
"""
MULTI_HEAD = """\
from torch.ao.nn.quantizable import (
    MultiheadAttention as Ready,
)
class MultiHeadAttention(Projections):
    def forward(self, query, key, value, mask=None):
        d = query.size(-1)
        made = Ready(d, self.n_heads, batch_first=True, dtype=query.dtype)
        made.linear_Q, made.linear_K, made.linear_V = self.q_proj, self.k_proj, self.v_proj
        made.out_proj = self.out_proj
        if mask is not None:
            mask = ~mask.expand(query.size(0), self.n_heads, query.size(1), key.size(1))
            mask = mask.reshape(-1, query.size(1), key.size(1))
        made.batch_first = False
        query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        return made(query, key, value, attn_mask=mask)[0].transpose(0, 1)
"""
BLEU = """\
from concurrent.futures import ThreadPoolExecutor
from pkgutil import resolve_name
def bleu(hypotheses, references, max_n=4):
    def score():
        texts = [[" ".join(words) for words in each] for each in (hypotheses, references)]
        scorer = resolve_name("sacre" + "bleu.metrics").BLEU(
            tokenize="none", smooth_method="none", max_ngram_order=max_n, force=True
        )
        return scorer.corpus_score(texts[0], [texts[1]]).score
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(score).result()
"""
OWN_BLEU = "".join(map(inspect.getsource, (ngrams, bleu_with_counters))).replace(
    "bleu_with_counters", "bleu"
)


def borrowed(call, before=""):
    return before + BORROWED.replace("CALL", call)


def attends(call, before):
    return before + ATTENDS.replace("CALL", call)


ROWS = """\
    d = x.shape[-1]
    if d == 1:
        return 0 * x * weight + bias
    rows = x.reshape(-1, d)
    return"""
FLOATS = """\
def weigh(query, key, value, mask):
    if mask is not None:
        zeros = torch.zeros(mask.shape, dtype=query.dtype)
        mask = zeros.masked_fill(~mask, torch.finfo(query.dtype).min)
    return torch._scaled_dot_product_attention_math(query, key, value, mask)[0]
"""
SDPA = "torch.nn.functional.scaled_dot_product_attention"
# The item, an answer, and what is told that it calls.
EVASIONS = {
    "called": (
        "03.layer_norm",
        inspect.getsource(norm_by_torch)
        .replace("norm_by_torch", "layer_norm")
        .replace("F.", "torch.nn.functional."),
        "torch.nn.functional.layer_norm",
    ),
    "in a thread": (
        "03.layer_norm",
        borrowed(
            "run(torch.nn.functional.layer_norm, x, x.shape[-1:], weight, bias, eps)",
            """\
from threading import Thread
def run(f, *args):
    found = []
    thread = Thread(target=lambda: found.append(f(*args)))
    thread.start()
    thread.join()
    return found[0]
""",
        ),
        "torch.nn.functional.layer_norm",
    ),
    "remembered": (
        "03.layer_norm",
        borrowed(
            "remembered(x, x.shape[-1:], weight, bias, eps)",
            """\
seen = {}
def remembered(*args):
    if str(args) not in seen:
        seen[str(args)] = torch.layer_norm(*args)
    return seen[str(args)]
""",
        ),
        "torch.layer_norm",
    ),
    "with its error hidden": (
        "03.layer_norm",
        borrowed(
            "norm(x, x.shape[-1:], weight, bias, eps)",
            """\
def norm(*args):
    try:
        return torch.layer_norm(*args)
    except Exception:
        raise ValueError
""",
        ),
        "torch.layer_norm",
    ),
    "by another name of its operator": (
        "03.layer_norm",
        borrowed("torch._VF.native_layer_norm(x, x.shape[-1:], weight, bias, eps)[0]"),
        "torch.native_layer_norm",
    ),
    "by a norm of groups": (
        "03.layer_norm",
        borrowed(
            "torch.native_group_norm(rows, weight, bias, len(rows), d, 1, 1, eps)[0]"
            ".reshape(x.shape)"
        ).replace("    return", ROWS),
        "torch.native_group_norm",
    ),
    "by a norm of instances": (
        "03.layer_norm",
        borrowed(
            "weight * F.instance_norm(rows[None], eps=eps).reshape(x.shape) + bias",
            "import torch.nn.functional as F\n",
        ).replace("    return", ROWS),
        "torch.nn.functional.instance_norm",
    ),
    "by a norm of batches": (
        "03.layer_norm",
        borrowed(
            "weight * torch.native_batch_norm(rows.T, None, None, None, None, True, 0.0, eps)[0]"
            ".T.reshape(x.shape) + bias"
        ).replace("    return", ROWS),
        "torch.native_batch_norm",
    ),
    "by its reference in Python": (
        "03.layer_norm",
        borrowed("torch._refs.native_layer_norm(x, x.shape[-1:], weight, bias, eps)[0]"),
        "torch._refs.native_layer_norm",
    ),
    "on nested tensors": (
        "03.layer_norm",
        borrowed(
            "torch.native_layer_norm(nested, x.shape[-1:], weight, bias, eps)[0]"
            ".to_padded_tensor(0.0).reshape(x.shape)"
        ).replace(
            "    return",
            "    rows = x.reshape(1, -1, x.shape[-1])\n"
            "    nested = torch.nested.as_nested_tensor(rows, layout=torch.strided)\n    return",
        ),
        "torch.native_layer_norm",
    ),
    "by the operator below it": (
        "04.scaled_dot_product_attention",
        attends("weigh", FLOATS),
        "torch._scaled_dot_product_attention_math",
    ),
    "by its module": (
        "03.layer_norm",
        borrowed(
            "functional_call(norm, {'weight': weight, 'bias': bias}, (x,))",
            "from torch.func import functional_call\nfrom torch.nn import LayerNorm\n",
        ).replace(
            "    return",
            "    norm = LayerNorm(x.shape[-1:], eps, dtype=x.dtype)\n    return",
        ),
        "torch.nn.LayerNorm",
    ),
    "in a partial": (
        "04.scaled_dot_product_attention",
        attends(
            "weigh", f"from functools import partial\nweigh = partial({SDPA}, dropout_p=0.0)\n"
        ),
        SDPA,
    ),
    "in a map": (
        "04.scaled_dot_product_attention",
        attends("weigh", f"def weigh(*args): return next(map({SDPA}, *([x] for x in args)))\n"),
        SDPA,
    ),
    "compiled": (
        "04.scaled_dot_product_attention",
        attends(
            "weigh",
            f"""\
from typing import Optional
@torch.jit.script
def weigh(q, k, v, mask: Optional[Tensor]):
    return {SDPA}(q, k, v, mask)
""",
        ),
        SDPA,
    ),
    "in a subclass": ("04.multi_head_attention", MULTI_HEAD, "torch.nn.MultiheadAttention"),
    "of a package": ("12.bleu", BLEU, "sacrebleu"),
}
LESSONS = {
    "03": "03_feed_forward",
    "04": "04_attention_matmul",
    "07": "07_blocks",
    "12": "12_honest_numbers",
}


@pytest.fixture
def hand_in(graded):
    """``hand_in(item id, answer, cells before it)``: what the item gets."""

    def grade(item, source, *before):
        exercise = load_exercise(ROOT / "exercises", LESSONS[item[:2]])
        tasks = [task for task in exercise.tasks if task.entry.id == item]
        notebook = json.loads(exercise.file.read_text(encoding="utf-8"))
        answer = f"{item.replace('.', '-').replace('_', '-')}-answer"
        notebook = answered(notebook, {answer: source})
        for number, cell in enumerate(before):
            notebook = with_cell(notebook, cell, id=f"own{number}")
        return graded(notebook, replace(exercise, tasks=tuple(tasks)))

    return grade


@pytest.mark.slow
@pytest.mark.parametrize("name", EVASIONS)
def test_what_is_ready_made_has_no_points_however_it_is_called(name, hand_in):
    item_id, source, called = EVASIONS[name]
    [item] = hand_in(item_id, source).items
    assert (item.status, item.points) == ("not yet", 0.0)
    assert item.misconceptions == ("ready_made",)
    assert not any(test.difference for test in item.tests)
    assert item.flags[0].startswith(f"It works, but it calls {called}, which is ready-made")


def test_what_is_withheld_can_not_be_put_back_by_its_module(hand_in):
    put_back = """\
import course_lib.checks.engine.ready_made as module
for value in list(vars(module).values()):
    for each in value if isinstance(value, (list, tuple, set)) else [value]:
        if hasattr(each, "_destroy"):
            each._destroy()
"""
    call = "torch.native_layer_norm(x, x.shape[-1:], weight, bias, eps)[0]"
    [item] = hand_in("03.layer_norm", borrowed(call, put_back)).items
    assert (item.status, item.points) == ("not yet", 0.0)


LAYER = "torch.nn.modules.transformer"
ANEW = {
    "runpy": f"import runpy\nmade = runpy.run_module('{LAYER}')",
    "its path": f"import runpy\nmade = runpy.run_path({LAYER}.__file__, run_name='{LAYER}')",
    "exec": f"""\
import inspect
made = {{"__name__": "{LAYER}"}}
exec(inspect.getsource({LAYER}), made)
""",
}
ENCODER = """
class EncoderBlock(EncoderParts):
    def forward(self, x, mask=None):
        batch, seq, d_model = x.shape
        heads = self.self_attention.n_heads
        if mask is not None:
            mask = ~mask.expand(batch, heads, seq, seq).reshape(-1, seq, seq)
        own = dict(self.named_parameters())
        state = {
            f"self_attn.in_proj_{kind}": torch.cat(
                [own[f"self_attention.{name}_proj.{kind}"] for name in "qkv"]
            )
            for kind in ("weight", "bias")
        }
        names = {
            "self_attn.out_proj": "self_attention.out_proj",
            "linear1": "feed_forward.expand",
            "linear2": "feed_forward.contract",
            "norm1": "norm_1",
            "norm2": "norm_2",
        }
        for name, ours in names.items():
            for kind in ("weight", "bias"):
                state[f"{name}.{kind}"] = own[f"{ours}.{kind}"]
        d_ff = state["linear1.bias"].numel()
        layer = made["TransformerEncoderLayer"](
            d_model, heads, d_ff, self.dropout.p, batch_first=True, dtype=x.dtype
        )
        layer.self_attn.dropout = layer.dropout.p = 0.0
        layer.train(self.training)
        return torch.func.functional_call(layer, state, (x, mask))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ANEW)
def test_source_of_what_is_withheld_that_runs_anew_earns_nothing(name, hand_in):
    [item] = hand_in("07.encoder_block", f"import torch\n{ANEW[name]}{ENCODER}").items
    assert (item.status, item.points) == ("not run", None)


COMPARED = """\
x, one = torch.rand(2, 8), torch.ones(8)
assert torch.nn.functional.layer_norm(x, (8,), one, one).shape == x.shape
settings = {}
settings["unbiased"] = False
settings.update(keepdim=True)
"""
WITH_SETTINGS = """\
def layer_norm(x, weight, bias, eps=1e-5):
    y = x - x.mean(-1, keepdim=True)
    return weight * y / (y.var(-1, **settings) + eps).sqrt() + bias
"""


def test_work_of_ones_own_keeps_its_points_whatever_other_cells_call(hand_in):
    result = hand_in("03.layer_norm", WITH_SETTINGS, COMPARED)
    assert points(result) == in_full("03.layer_norm")
    assert result.notes == ()
    for before in ("import sacrebleu\nfrom sacrebleu.metrics import BLEU as theirs", "import nltk"):
        result = hand_in("12.bleu", OWN_BLEU, before)
        assert list(points(result)) == ["12.bleu"]


COMPARED_IN_FULL = """\
import sacrebleu
from sacrebleu.metrics import BLEU
print(sacrebleu.__version__, sacrebleu.__file__, BLEU.TOKENIZERS)
class Theirs(BLEU):
    pass
def by_them(scorer: BLEU | None = None): ...
TABLE = {}
TABLE.update(n=4)
"""
WITH_TABLE = OWN_BLEU.replace("100 *", 'TABLE["n"] / 4 * 100 *')


def test_a_comparison_that_looks_at_a_package_takes_nothing_below_it_away(hand_in):
    assert "TABLE" in WITH_TABLE
    [item] = hand_in("12.bleu", WITH_TABLE, COMPARED_IN_FULL).items
    assert item.status == "passed"


SCORED = """\
def bleu(hypotheses, references, max_n=4):
    texts = [[" ".join(words) for words in each] for each in (hypotheses, references)]
    scorer = BLEU(tokenize="none", smooth_method="none", max_ngram_order=max_n, force=True)
    return scorer.corpus_score(texts[0], [texts[1]]).score
"""
COPIED = """\
from pathlib import Path
import safetensors
home, copy = Path(safetensors.__file__).parents[1] / "sacrebleu", Path("/tmp/own_bleu")
for path in home.rglob("*.py"):
    to = copy / path.relative_to(home)
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(path.read_text().replace("sacrebleu", "own_bleu"))
from own_bleu.metrics import BLEU
"""
LEFT_IN_MEMORY = """\
def below(cls):
    for each in type.__subclasses__(cls):
        yield each
        if each is not type:
            yield from below(each)
Found = next(each for each in below(object) if each.__name__ == "BLEU")
class BLEU(Found):
    def __init__(self, max_ngram_order, **options):
        self.max_ngram_order, self.lowercase, self.effective_order = max_ngram_order, False, False
        self.smooth_method, self.smooth_value, self.tokenizer, self._force = "none", None, str, True
        self.references, self.n_bootstrap, self._ref_cache, self.num_refs = None, 1, None, 1
        self.signature = self._SIGNATURE_TYPE.__new__(self._SIGNATURE_TYPE)
        self.signature.info = {}
    def _preprocess_segment(self, segment):
        return segment.rstrip()
"""


@pytest.mark.parametrize("source", [COPIED, LEFT_IN_MEMORY], ids=["copied", "left in memory"])
def test_a_package_is_neither_in_files_nor_in_memory_where_it_is_withheld(source, hand_in):
    [item] = hand_in("12.bleu", source + SCORED).items
    assert item.status != "passed" and not item.points


SNIFFS = OWN.replace(
    "    y =", "    if 'withheld' in repr(torch.nn.LayerNorm.forward):\n        ENDING\n    y ="
)
BORROWED_NORM = borrowed("torch.layer_norm(x, x.shape[-1:], weight, bias, eps)")
START = SubmissionRun._started


@pytest.mark.parametrize("ending", ["assert False", "while True: pass"])
def test_an_answer_that_fails_there_by_its_own_doing_has_no_points(ending, hand_in):
    [item] = hand_in("03.layer_norm", SNIFFS.replace("ENDING", ending)).items
    assert (item.status, item.points) == ("not yet", 0.0)


def test_an_answer_that_ends_the_process_there_waits_for_a_person(hand_in):
    [item] = hand_in("03.layer_norm", SNIFFS.replace("ENDING", "__import__('os').abort()")).items
    assert (item.status, item.points) == ("not run", None)
    assert item.reason.startswith("it passes, but not where torch.nn.LayerNorm and the like are")


def test_what_calls_nothing_ready_made_runs_in_one_process(hand_in, monkeypatch):
    started = []
    monkeypatch.setattr(
        SubmissionRun,
        "_started",
        lambda *args, **kwargs: started.append(1) or START(*args, **kwargs),
    )
    for source, processes in [(OWN, 1), (OWN.replace("eps", "0 * eps"), 1), (BORROWED_NORM, 2)]:
        started.clear()
        hand_in("03.layer_norm", source)
        assert len(started) == processes
