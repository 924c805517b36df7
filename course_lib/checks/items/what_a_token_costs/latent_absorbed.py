"""18.latent_absorbed: attend to a latent without making keys and values of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.items.what_a_token_costs.largest_result import NoTensorOf
from course_lib.modern import absorbed_scores


def _use(
    attend: Callable[..., Any], query: Tensor, latent: Tensor, k_up: Tensor, v_up: Tensor
) -> Any:
    """Attend to K keys, and make no tensor with the keys or the values of one head or more."""
    batch, heads, _, d_head = query.shape
    keys = latent.size(1)
    made = {n * keys * d_head for n in (1, batch, heads, batch * heads)}
    says = (
        "expected no keys and no values, not even those of one head, got a tensor with as many "
        f"numbers as those of one head or more, of which each has (keys, d_head) = "
        f"({keys}, {d_head})"
    )
    with NoTensorOf(lambda x: x.numel() in made, says):
        return attend(query, latent, k_up, v_up)


def _absorbed(query: Tensor, latent: Tensor, k_up: Tensor, v_up: Tensor) -> Tensor:
    weights = absorbed_scores(query, latent, k_up).softmax(dim=-1)
    mixed = torch.einsum("bhqk,bkl->bhql", weights, latent)
    by_head = v_up.unflatten(0, (query.size(1), -1))  # (heads, d_head, d_latent)
    return torch.einsum("bhql,hel->bhqe", mixed, by_head)


def _call(
    draw: Draw,
    heads: int,
    queries: int,
    keys: int,
    *,
    batch: int = 2,
    d_head: int = 3,
    d_latent: int = 7,
    dtype: torch.dtype = torch.float32,
    gradients: bool = False,
) -> Call:
    arguments = (
        draw.normal(batch, heads, queries, d_head, dtype=dtype),
        draw.normal(batch, keys, d_latent, dtype=dtype),
        draw.normal(heads * d_head, d_latent, dtype=dtype),
        draw.normal(heads * d_head, d_latent, dtype=dtype),
    )
    about = f"batch {batch}, {heads} heads of {d_head}, latent of {d_latent}, "
    about += f"{queries} quer{'y' if queries == 1 else 'ies'}, {keys} keys"
    return Call(arguments, about=about, gradients=gradients)


# The keys would have K · E numbers, or that times B, H or both: no other tensor here has as many,
# not even those of code that takes one query or one head at a time.
item = Item(
    "18.latent_absorbed",
    reference=_absorbed,
    use=_use,
    tolerance=1e-4,
    probes=[
        Probe(
            "the context is that of keys and values made from the latent",
            lambda draw: [_call(draw, 4, 1, 11), _call(draw, 5, 2, 13, batch=3, d_head=4)],
        ),
        Probe(
            "a head may be wider than the latent",
            lambda draw: [
                _call(draw, 2, 1, 17, d_head=8, d_latent=5),
                _call(draw, 3, 2, 11, d_head=5, d_latent=4),
            ],
        ),
        Probe(
            "one head, one query, one text",
            lambda draw: [
                _call(draw, 1, 3, 7, batch=1, d_head=4, d_latent=6),
                _call(draw, 3, 1, 19, batch=1, d_head=4),
            ],
        ),
        Probe("float64", lambda draw: [_call(draw, 4, 2, 11, dtype=torch.float64)]),
        Probe(
            "gradients reach queries, latent and both matrices",
            lambda draw: [_call(draw, 4, 2, 11, gradients=True)],
        ),
    ],
    hints=(
        "A score is a product of three: query, matrix, latent. Which two of them can be multiplied "
        "first, and which choice makes a tensor for each key?",
        "First turn each query into a vector as long as a latent: that is its head's part of k_up "
        "at work. Then the scores are ordinary products. The mean of the values is linear as well: "
        "take the mean of the latents first, and let v_up work on that.",
        "For matrices of three heads on top of one another, m of shape (3 · 4, 5), "
        'm.unflatten(0, (3, 4)) has one matrix (4, 5) for each head. With torch.einsum("ha,hab->'
        'hb", x, m), vector h of x is multiplied by matrix h, from the left. Is it that side '
        "that you need for the queries? And for the values?",
    ),
)


AXES = {"softmax_over_queries": -2, "softmax_over_heads": 1}


@item.switchable
def attention_with(on: frozenset[str]) -> Callable[..., Any]:
    """``latent_absorbed`` with these misconceptions."""

    def answer(query: Tensor, latent: Tensor, k_up: Tensor, v_up: Tensor) -> Any:
        by_key, by_value = by_head(k_up, query, "keys"), by_head(v_up, query, "values")
        if "values_from_k_up" in on:
            by_value = by_key
        if "matrices_exchanged" in on:
            by_key, by_value = by_value, by_key
        if "one_matrix_for_all" in on:
            by_key, by_value = (x[:1].expand_as(x) for x in (by_key, by_value))
        weights = weights_of(scores_of(query, latent, by_key))
        if "values_made" in on:
            return weights @ torch.einsum("bkl,hel->bhke", latent, by_value)
        mixed = torch.einsum("bhqk,bkl->bhql", weights, latent)
        if "latent_returned" in on:
            return mixed
        if "value_heads_never_told_apart" in on:
            context = torch.einsum("bhql,hel->bqe", mixed, by_value)
            return context[:, None].expand_as(query)
        context = torch.einsum("bhql,hel->bhqe", mixed, by_value)
        return context.transpose(1, 2).flatten(2) if "heads_merged" in on else context

    def by_head(up: Tensor, query: Tensor, of: str) -> Tensor:
        """The matrix of each head, (heads, d_head, d_latent)."""
        heads, d_head = query.size(1), query.size(3)
        if on & {"every_other_row", f"every_other_row_of_{of}"}:
            return up.unflatten(0, (d_head, heads)).transpose(0, 1)
        return up.unflatten(0, (heads, d_head))

    def scores_of(query: Tensor, latent: Tensor, by_key: Tensor) -> Tensor:
        if "keys_made" in on:
            keys = torch.einsum("bkl,hel->bhke", latent, by_key)
            return scaled(query @ keys.transpose(-2, -1), query, latent)
        if "queries_of_all_heads_added" in on:
            absorbed = torch.einsum("bhqe,hel->bql", query, by_key)[:, None]
            absorbed = absorbed.expand(-1, query.size(1), -1, -1)
        else:
            absorbed = torch.einsum("bhqe,hel->bhql", query, by_key)
        return scaled(torch.einsum("bhql,bkl->bhqk", absorbed, latent), query, latent)

    def scaled(scores: Tensor, query: Tensor, latent: Tensor) -> Tensor:
        if "not_scaled" in on:
            return scores
        width = query.size(-1)
        if "scaled_by_the_latent" in on:
            width = latent.size(-1)
        if "scaled_by_all_heads" in on:
            width *= query.size(1)
        return scores / math.sqrt(width)

    def weights_of(scores: Tensor) -> Tensor:
        if "no_softmax" in on:
            return scores
        return scores.softmax(dim=next((axis for name, axis in AXES.items() if name in on), -1))

    return answer


item.switch(
    "keys_made",
    "Your code makes keys or values, and the task asks to do without them.",
    why="With 128 heads of 128, the keys of a text are 32 times as many numbers as its latents of "
    "512, made anew for each token. Then the cache is small, and the work is not.",
    hint="In q · (W c), which product needs no key? And a mean of W c is W times what?",
    spellings=["values_made"],
)
item.switch(
    "scaled_by_the_latent",
    "Your scores are divided by the root of the latent's width.",
    why="They are the same scores as before, sums of E products of query and key. That they are "
    "computed along L numbers changes nothing in their size.",
    hint="By what would you divide if you had made the keys?",
)
item.switch(
    "scaled_by_all_heads",
    "Your scores are divided by the root of the width of all heads together.",
    why="A score is a sum of E products of one head.",
    hint="How long is a query of one head?",
)
item.switch(
    "not_scaled",
    "Your scores are not divided by √E.",
    why="They are the same scores as with keys, and need the same scale.",
    hint="What comes between the product of queries and keys and the softmax?",
)
item.switch(
    "latent_returned",
    "You return a mean of latents: v_up is never applied.",
    why="The next layer expects what each head makes of it, E numbers a head.",
    hint="What are the shapes of your result and of the query?",
)
item.switch(
    "values_from_k_up",
    "Your values go through k_up, and v_up has no effect.",
    why="What a token passes on would be the same as what it is found by.",
    hint="For each of the two matrices, find the line that uses it.",
)
item.switch(
    "matrices_exchanged",
    "You use k_up and v_up the other way round.",
    why="k_up makes keys, which the queries are compared with; v_up makes values.",
    hint="Which matrix has to be in the scores?",
)
item.switch(
    "every_other_row",
    "Each of your heads takes every H-th row of a matrix, and not E neighbouring ones.",
    why="The first E rows of k_up belong to head 0, the next E to head 1, as split_heads has it; "
    "with v_up it is the same.",
    hint="In which order do H and E stand where you split the rows?",
    spellings=["every_other_row_of_keys", "every_other_row_of_values"],
)
item.switch(
    "one_matrix_for_all",
    "All your heads use the rows of head 0.",
    why="The latent is shared, and the matrices are not: that is how heads differ.",
    hint="Which rows of k_up does head 1 use?",
)
item.switch(
    "queries_of_all_heads_added",
    "You add up the heads when k_up is applied to the queries, so all heads have the same scores.",
    why="Each head asks its own question. Only the latent is shared.",
    hint="Which letters are in your result, and is that of the heads one of them?",
)
item.switch(
    "value_heads_never_told_apart",
    "You add up the heads when v_up is applied, so all heads return the same.",
    why="Adding up heads is the work of the output projection, which comes later.",
    hint="Which letters are in your result, and is that of the heads one of them?",
)
item.switch(
    "heads_merged",
    "You merge the heads, and the task asks for them apart, (B, H, Q, E).",
    why="The merge comes after this function, before the output projection.",
    hint="Compare the shape of your result with that of the query.",
)
item.switch(
    "no_softmax",
    "You use the scores as weights: softmax is missing.",
    why="Scores can be negative and don't sum to one.",
    hint="Which step comes between scores and latents?",
)
item.switch(
    "softmax_over_queries",
    "Your softmax doesn't run over the keys.",
    why="The weights of one query must sum to one over its keys.",
    hint="Which axis of (B, H, Q, K) has the keys?",
    spellings=["softmax_over_heads"],
)
item.apart += [
    {"values_from_k_up", "matrices_exchanged"},
    {"not_scaled", "scaled_by_the_latent"},
    {"not_scaled", "scaled_by_all_heads"},
]
