"""Runs of lesson 16: their numbers bear out the answers, computed in another way."""

import pytest
import torch
from torch.nn import functional as F

from course_lib.checks import make_run
from course_lib.checks.items.one_stack import compare as two_losses
from course_lib.checks.items.one_stack import predict as changes
from course_lib.modern import IGNORED, join_pairs, next_token_loss, prefix_mask

NUMBERS = range(40)


def reached(mask):
    """Which token changes which output after two layers: what sees it, and what sees that."""
    sees = mask | torch.eye(len(mask), dtype=torch.bool)  # the residual connection
    return ((sees.float() @ sees.float()) > 0).T  # (token, output)


@pytest.mark.parametrize("number", NUMBERS)
def test_an_output_moves_if_the_mask_lets_the_change_through(number):
    run = changes.run.run(number)
    mask = changes.mask_of(run.mask, run.source, len(run.tokens))
    moved = (run.after - run.before).abs().amax(-1) > 0.001
    assert torch.equal(moved, reached(mask))


@pytest.mark.parametrize("number", NUMBERS)
def test_no_two_masks_move_the_same_outputs(number):
    run = changes.run.run(number)
    length = len(run.tokens)
    tables = {name: reached(changes.mask_of(name, run.source, length)) for name in changes.MASKS}
    same = [name for name, table in tables.items() if torch.equal(table, tables[run.mask])]
    assert same == [run.mask]


def test_the_masks_are_what_their_sentences_say():
    masks = {name: changes.mask_of(name, 3, 6) for name in changes.MASKS}
    right = prefix_mask(torch.tensor([3]), 6)[0, 0]
    assert torch.equal(masks["prefix"], right)
    wrong = {name: (mask != right).nonzero().tolist() for name, mask in masks.items()}
    assert wrong["causal"] == [[0, 1], [0, 2], [1, 2]]
    assert wrong["short"] == [[0, 2], [1, 2]]
    assert wrong["bos"] == [[0, 3], [1, 3], [2, 3]]
    assert wrong["reads_all"] == [[q, k] for q in range(3) for k in range(3, 6)]
    assert wrong["apart"] == [[q, k] for q in range(3, 6) for k in range(3)]
    assert wrong["no_past"] == [[4, 3], [5, 3], [5, 4]]


def by_the_exercise(run, letter):
    """The loss and the costs of a program that does what 16.join_pairs asks."""
    ids, pad, bos, eos = run.ids, *map(run.vocabulary.index, ("<pad>", "<bos>", "<eos>"))
    pairs = []
    for row in ids.tolist():
        start, end = row.index(bos), row.index(eos)
        pairs.append((row[:start], row[start + 1 : end]))
    batch = join_pairs(pairs, pad_id=pad, bos_id=bos, eos_id=eos)
    assert torch.equal(batch.tokens, ids) and batch.prefix.tolist() == run.sources
    log_p = run.programs[letter].log_p
    costs = F.nll_loss(log_p.transpose(1, 2), batch.labels, ignore_index=IGNORED, reduction="none")
    return float(next_token_loss(log_p, batch.labels)), costs


@pytest.mark.parametrize("number", NUMBERS)
def test_the_right_program_has_the_loss_of_the_exercise_and_the_wrong_one_another(number):
    run = two_losses.run.run(number)
    loss, costs = by_the_exercise(run, run.right)
    assert run.programs[run.right].loss == pytest.approx(loss, abs=1e-5)
    assert torch.allclose(run.programs[run.right].costs, costs, atol=1e-5)
    loss, costs = by_the_exercise(run, run.wrong)
    assert run.loss == pytest.approx(loss, abs=1e-5)
    assert abs(run.programs[run.wrong].loss - loss) > 0.05
    same = torch.allclose(run.programs[run.wrong].costs, costs, atol=0.01)
    assert same == (run.error == "rows")


@pytest.mark.parametrize("number", NUMBERS)
def test_only_one_error_explains_the_costs(number):
    run = two_losses.run.run(number)
    lengths = [len(row) - row.count("<pad>") for row in run.rows]
    wrong = run.programs[run.wrong]
    explained = []
    for error in two_losses.ERRORS:
        other = two_losses._costs(wrong.log_p, run.ids, run.sources, lengths, error)
        near = abs(other.loss - wrong.loss) < 0.01
        if near and torch.allclose(other.costs, wrong.costs, atol=0.01):
            explained.append(error)
    assert explained == [run.error]


def test_a_run_shows_what_its_values_hold():
    shown = make_run("16.compare", number=1)
    assert shown["words"][0].split()[shown["sources"][0]] == "<bos>"
    assert f"A: loss {shown['A']['loss']:.3f}" in shown.text
    assert make_run("16.predict", number=1)["tokens"][
        make_run("16.predict", number=1)["source"]
    ] == ("<bos>")
