"""Correct solutions to the items of lesson 13, written differently: all must pass."""

import heapq
import math

import torch
from torch.nn import functional as F

from course_lib.decoding import beam_search as library_search
from course_lib.decoding import evaluating
from course_lib.model import AttentionCache, KeyValueCache


def greedy_row_by_row(model, source, bos_id, eos_id, max_len):
    training = model.training
    model.eval()
    rows = []
    with torch.inference_mode():
        memory = model.encode(source)
        for b in range(len(source)):
            prefix = [bos_id]
            while len(prefix) <= max_len and eos_id not in prefix[1:]:
                logits = model.decode(torch.tensor([prefix]), memory[b : b + 1], source[b : b + 1])
                prefix.append(logits[0, -1].argmax().item())
            rows.append(prefix[1:])
    model.train(training)
    longest = max(map(len, rows))
    return torch.tensor([row + [model.config.pad_id] * (longest - len(row)) for row in rows])


def greedy_in_one_batch(model, source, bos_id, eos_id, max_len):
    answer = torch.full((source.size(0), max_len), model.config.pad_id)
    active = torch.ones(source.size(0), dtype=torch.bool)
    prefix = torch.full((source.size(0), 1), bos_id)
    with evaluating(model):
        memory = model.encode(source)
        for step in range(max_len):
            token = model.decode(prefix, memory, source)[:, -1].topk(1).indices
            answer[active, step] = token[active, 0]
            active &= token[:, 0] != eos_id
            prefix = torch.cat([prefix, token], 1)
            if not active.any():
                return answer[:, : step + 1]
    return answer


def greedy_with_a_cache(model, source, bos_id, eos_id, max_len):
    generated = [[] for _ in source]
    active = list(range(len(source)))
    with evaluating(model):
        memory, cache = model.encode(source), KeyValueCache(model.config.n_layers)
        last_token = torch.tensor([[bos_id]] * len(source))
        while active and len(generated[active[0]]) < max_len:
            last_token = model.decode(last_token, memory, source, cache=cache).argmax(-1)
            for row, token in zip(active, last_token[:, 0].tolist(), strict=True):
                generated[row].append(token)
            keep = torch.tensor(
                [i for i, row in enumerate(active) if generated[row][-1] != eos_id]
            ).long()
            active = [row for row in active if generated[row][-1] != eos_id]
            last_token, memory, source = last_token[keep], memory[keep], source[keep]
            cache.select(keep)
    return torch.nn.utils.rnn.pad_sequence(
        [torch.tensor(row) for row in generated],
        batch_first=True,
        padding_value=model.config.pad_id,
    )


def beam_with_sorted_lists(model, source, bos_id, eos_id, width, max_len, length_penalty):
    beams, hypotheses = [(0.0, [])], []
    with evaluating(model):
        memory = model.encode(source)
        for length in range(1, max_len + 1):
            n = len(beams)
            prefixes = torch.tensor([[bos_id, *tokens] for _, tokens in beams])
            logits = model.decode(prefixes, memory.expand(n, -1, -1), source.expand(n, -1))
            log_p = logits[:, -1].log_softmax(-1).tolist()
            ranked = sorted(
                (
                    (log_prob + more, [*tokens, token])
                    for (log_prob, tokens), row in zip(beams, log_p, strict=True)
                    for token, more in enumerate(row)
                ),
                reverse=True,
            )
            beams = []
            for beam in ranked[:width]:
                ended = beam[1][-1] == eos_id or length == max_len
                (hypotheses if ended else beams).append(beam)
            if not beams:
                break
    scored = [(p / ((5 + len(tokens)) / 6) ** length_penalty, tokens) for p, tokens in hypotheses]
    score, tokens = max(scored)
    return tokens, score


def beam_one_by_one(model, source, bos_id, eos_id, width, max_len, length_penalty):
    """Each beam separately, from a heap; probabilities are multiplied."""
    training = model.training
    model.train(False)
    ended = {}
    with torch.no_grad():
        memory, beams = model.encode(source), {(): 1.0}
        while beams:
            heap = []
            for tokens, probability in beams.items():
                target = torch.tensor([[bos_id, *tokens]])
                following = model.decode(target, memory, source)[0, -1].double().softmax(0)
                for token, p in enumerate(following.tolist()):
                    if p:
                        heapq.heappush(heap, (-probability * p, (*tokens, token)))
            beams = {}
            for _ in range(min(width, len(heap))):
                minus, tokens = heapq.heappop(heap)
                done = tokens[-1] == eos_id or len(tokens) == max_len
                (ended if done else beams)[tokens] = -minus
    model.train(training)
    scores = {
        tokens: math.log(p) / ((5 + len(tokens)) / 6) ** length_penalty
        for tokens, p in ended.items()
    }
    best = max(scores, key=scores.get)
    return list(best), scores[best]


def beam_of_the_library(model, source, bos_id, eos_id, width, max_len, length_penalty):
    ((best,),) = library_search(
        model, source, bos_id, eos_id, max_len, width=width, length_penalty=length_penalty
    )
    return best.tokens, best.score


def beam_with_the_greedy_prefix(model, source, bos_id, eos_id, width, max_len, length_penalty):
    """As in the lesson: the greedy prefix replaces the last beam."""
    beams, hypotheses, greedy = [(torch.tensor(0.0), [])], [], []
    with evaluating(model):
        memory = model.encode(source)
        for length in range(1, max_len + 1):
            prefixes = torch.tensor([[bos_id, *tokens] for _, tokens in beams])
            n = len(prefixes)
            rows = model.decode(prefixes, memory.repeat(n, 1, 1), source.repeat(n, 1))[:, -1]
            found = []
            for (log_prob, tokens), row in zip(beams, rows.log_softmax(-1), strict=True):
                if tokens == greedy:
                    following = [*tokens, int(row.argmax())]
                found += [(log_prob + p, [*tokens, v]) for v, p in enumerate(row)]
            found.sort(key=lambda beam: float(beam[0]), reverse=True)
            kept = found[:width]
            if greedy[-1:] != [eos_id]:
                greedy = following
                if all(tokens != greedy for _, tokens in kept):
                    kept[-1] = next(beam for beam in found if beam[1] == greedy)
            hypotheses += [b for b in kept if b[1][-1] == eos_id or length == max_len]
            beams = [b for b in kept if b[1][-1] != eos_id and length < max_len]
            if not beams:
                break
    score = [float(p) / ((5 + len(t)) / 6) ** length_penalty for p, t in hypotheses]
    best = max(range(len(score)), key=score.__getitem__)
    return hypotheses[best][1], score[best]


def step_by_einsum(attention, x, past):
    heads = attention.n_heads
    query, key, value = (
        torch.einsum("btd,hed->bhte", x, p.weight.view(heads, -1, p.weight.size(1)))
        + p.bias.view(heads, 1, -1)
        for p in (attention.q_proj, attention.k_proj, attention.v_proj)
    )
    if past:
        key, value = (torch.cat(pair, 2) for pair in zip(past, (key, value), strict=True))
    weights = (torch.einsum("bhte,bhse->bhts", query, key) / key.size(-1) ** 0.5).softmax(-1)
    context = torch.einsum("bhts,bhse->bthe", weights, value).flatten(2)
    return attention.out_proj(context), (key, value)


def step_by_views(attention, x, past):
    """One token: a view splits the heads, no transpose is needed."""
    batch = x.size(0)
    query, key, value = (
        project(x).view(batch, attention.n_heads, 1, -1)
        for project in (attention.q_proj, attention.k_proj, attention.v_proj)
    )
    if past is not None:
        key = torch.cat([past[0], key], dim=-2)
        value = torch.cat([past[1], value], dim=-2)
    context = F.scaled_dot_product_attention(query, key, value)
    return attention.out_proj(context.reshape(batch, 1, -1)), [key, value]


def step_by_the_library(attention, x, past):
    cache = AttentionCache(grows=True)
    if past is not None:
        cache.extend(*past)
    output = attention(x, x, x, cache=cache)
    return output, (cache.keys, cache.values)


def step_head_by_head(attention, x, past):
    width = attention.q_proj.out_features // attention.n_heads
    queries, new_keys, new_values = (
        project(x).split(width, dim=-1)
        for project in (attention.q_proj, attention.k_proj, attention.v_proj)
    )
    contexts, keys, values = [], [], []
    for h in range(attention.n_heads):
        key, value = new_keys[h], new_values[h]  # (B, 1, E)
        if past is not None:
            key, value = torch.cat((past[0][:, h], key), 1), torch.cat((past[1][:, h], value), 1)
        scores = (queries[h] * key).sum(-1, keepdim=True) / math.sqrt(width)  # (B, t, 1)
        contexts.append((scores.softmax(1) * value).sum(1, keepdim=True))
        keys.append(key)
        values.append(value)
    return attention.out_proj(torch.cat(contexts, -1)), (
        torch.stack(keys, 1),
        torch.stack(values, 1),
    )


def bug_by_divmod(prefixes, log_prob, logits, width):
    vocab = logits.shape[2]
    total = logits[:, -1].log_softmax(-1) + log_prob.unsqueeze(1)
    best, index = total.view(-1).topk(width)
    rows = [divmod(i, vocab) for i in index.tolist()]
    return torch.tensor([[*prefixes[b].tolist(), v] for b, v in rows]), best


def bug_by_unravelling(prefixes, log_prob, logits, width):
    total = log_prob[:, None] + F.log_softmax(logits[:, -1], 1)
    order = total.flatten().argsort(descending=True)[:width]
    beam, token = torch.unravel_index(order, total.shape)
    return torch.hstack((prefixes[beam], token.unsqueeze(1))), total[beam, token]


def bug_by_sorting(prefixes, log_prob, logits, width):
    rows = []
    for tokens, before, row in zip(prefixes.tolist(), log_prob, logits[:, -1], strict=True):
        rows += [(before + p, [*tokens, v]) for v, p in enumerate(row - row.logsumexp(0))]
    rows = sorted(rows, key=lambda pair: -pair[0].item())[:width]
    return torch.tensor([tokens for _, tokens in rows]), torch.stack([p for p, _ in rows])


ALTERNATIVES = {
    "13.greedy_decode": (greedy_row_by_row, greedy_in_one_batch, greedy_with_a_cache),
    "13.beam_search": (
        beam_with_sorted_lists,
        beam_one_by_one,
        beam_of_the_library,
        beam_with_the_greedy_prefix,
    ),
    "13.cached_step": (
        step_by_einsum,
        step_by_views,
        step_by_the_library,
        step_head_by_head,
    ),
    "13.bug": (bug_by_divmod, bug_by_unravelling, bug_by_sorting),
}
