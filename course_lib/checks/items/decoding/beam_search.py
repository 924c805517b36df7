"""12.beam_search: keep the most probable hypotheses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor

from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Item, Probe
from course_lib.checks.items.decoding.toy_model import (
    ToyModel,
    draw_model,
    draw_sources,
    use_decoder,
)
from course_lib.decoding import beam_search as library_search
from course_lib.decoding import evaluating, length_normaliser
from course_lib.model import Transformer

BOS, EOS = 1, 2


Beam = tuple[float, list[int]]  # log-probability, and the tokens without BOS


Found = tuple[list[int], float]


Extend = Callable[[Sequence[Beam], Tensor, int], list[Beam]]


def _most_probable(beams: Sequence[Beam], log_p: Tensor, width: int) -> list[Beam]:
    """The ``width`` best of all continuations, from beams (W) and tokens (W, V), best first."""
    total = torch.tensor([[log_prob] for log_prob, _ in beams]) + log_p
    best, index = total.flatten().topk(min(width, total.numel()))
    beam, token = index // log_p.size(1), index % log_p.size(1)
    found = zip(best.tolist(), beam.tolist(), token.tolist(), strict=True)
    return [(p, [*beams[b][1], t]) for p, b, t in found if p > -torch.inf]


def _normal(length: int, length_penalty: float) -> float:
    return cast(float, length_normaliser(length, length_penalty))


def _hypotheses(
    model: Transformer,
    source: Tensor,
    bos_id: int,
    eos_id: int,
    width: int,
    max_len: int,
    *,
    extend: Extend = _most_probable,
    shrinks: bool = False,
    leaves: bool = True,
    enough: Callable[[int], bool] = lambda ended: False,
) -> list[Beam]:
    """All hypotheses that a search finds; the model's mode is left alone.

    Args:
        extend: from the beams and the next tokens to the beams that are kept.
        shrinks: whether each beam that ends makes the search narrower.
        leaves: whether beams that end are taken out of the search.
        enough: from the number of hypotheses to whether to stop.
    """
    memory = model.encode(source)
    beams: list[Beam] = [(0.0, [])]
    found: list[Beam] = []
    for length in range(1, max_len + 1):
        prefixes = torch.tensor([[bos_id, *tokens] for _, tokens in beams])
        rows = len(beams)
        logits = model.decode(prefixes, memory.expand(rows, -1, -1), source.expand(rows, -1))
        kept = extend(beams, logits[:, -1].log_softmax(dim=-1), width - shrinks * len(found))
        found += [beam for beam in kept if beam[1][-1] == eos_id or length == max_len]
        beams = [beam for beam in kept if not leaves or beam[1][-1] != eos_id]
        if not beams or enough(len(found)):
            break
    return found


def _search(
    model: Transformer,
    source: Tensor,
    bos_id: int,
    eos_id: int,
    width: int,
    max_len: int,
    length_penalty: float,
    *,
    score: Callable[[float, int, float], float] = lambda log_prob, n, alpha: (
        log_prob / _normal(n, alpha)
    ),
    **options: Any,
) -> Found:
    """The best hypothesis and its score; ``score`` gets ln p, the number of tokens and α."""
    with evaluating(model):
        found = _hypotheses(model, source, bos_id, eos_id, width, max_len, **options)
    scored = [(score(log_prob, len(tokens), length_penalty), tokens) for log_prob, tokens in found]
    best = max(scored, key=lambda each: each[0])
    return best[1], best[0]


def _beam_search(
    model: Transformer,
    source: Tensor,
    bos_id: int,
    eos_id: int,
    width: int,
    max_len: int,
    length_penalty: float,
) -> Found:
    return _search(model, source, bos_id, eos_id, width, max_len, length_penalty)


def _same_with_greedy_prefix(call: Call) -> bool:
    """Whether always keeping the greedy prefix would change nothing.

    The lesson's search and the library's keep it, the textbook's doesn't. Both are accepted here.
    """
    model, source, bos_id, eos_id, width, max_len, length_penalty = call.args
    toy = ToyModel(**model, eos_id=eos_id)
    ((hypothesis,),) = library_search(
        toy, source, bos_id, eos_id, max_len, width=width, length_penalty=length_penalty
    )
    return hypothesis.tokens == _beam_search(toy, *call.args[1:])[0]


def _at_random(
    draw: Draw,
    width: int,
    max_len: int,
    length_penalty: float,
    *,
    vocab: int = 7,
    ids: tuple[int, int, int] = (BOS, EOS, 0),
    **options: Any,
) -> Call:
    """A model that is uncertain at each token and may end anywhere."""
    bos_id, eos_id, pad_id = ids
    about = f"width {width}, max_len {max_len}, length_penalty {length_penalty}"
    while True:
        model = draw_model(draw, vocab=vocab, pad_id=pad_id, max_len=15, std=1.5)
        source = draw_sources(draw, 1, 5, pad_id=pad_id)
        args = (model, source, bos_id, eos_id, width, max_len, length_penalty)
        if _same_with_greedy_prefix(call := Call(args, options, about)):
            return call


Tree = Mapping[str, Mapping[str, float]]  # what may follow each prefix; 2 is EOS


ASTRAY: Tree = {  # the lesson's: 3 me, 4 i, 5 cold, 6 is, 7 am, 8 freezing, 9 now
    "": {"3": 0.45, "4": 0.30, "5": 0.25},
    "3": {"6": 0.5, "7": 0.3, "8": 0.2},
    "4": {"7": 0.8, "6": 0.2},
    "5": {"2": 0.8, "3": 0.2},
    "3 6": {"5": 0.6, "8": 0.4},
    "4 7": {"5": 0.8, "8": 0.2},
    "3 6 5": {"2": 0.9, "9": 0.1},
    "4 7 5": {"2": 0.9, "9": 0.1},
}


EARLY_END: Tree = {  # one of two beams ends at once; two beams are needed later
    "": {"3": 0.40, "2": 0.35, "4": 0.25},
    "3": {"5": 0.55, "6": 0.45},
    "3 5": {"7": 0.4, "2": 0.3, "8": 0.3},
    "3 6": {"7": 1.0},
}


LATE_WINNER: Tree = {  # two have ended while the best is still active
    "": {"3": 0.62, "2": 0.25, "4": 0.13},
    "3": {"2": 0.5, "5": 0.45, "6": 0.05},
    "3 5": {"6": 1.0},
    "3 5 6": {"7": 1.0},
}


THIRD_BEAM: Tree = {  # the best is the third of three beams, after another has ended
    "": {"3": 0.45, "4": 0.35, "2": 0.2},
    "3": {"5": 0.4, "6": 0.35, "7": 0.25},
    "4": {"5": 0.4, "6": 0.35, "7": 0.25},
    "3 5": {"8": 0.4, "2": 0.3, "9": 0.3},
    "3 6": {"2": 0.6, "8": 0.4},
    "4 5": {"8": 1.0},
}


LONG: Tree = {  # eight tokens; up to six, a penalty that is rounded down looks like none
    "": {"3": 0.7, "4": 0.3},
    "3": {"5": 0.8, "6": 0.2},
    **{" ".join("356789"[:n]): {"356789"[n]: 1.0} for n in range(2, 6)},
    "3 5 6 7 8 9": {"3": 1.0},
}


CUT_OFF: Tree = {  # the best hypothesis of three tokens has no EOS
    "": {"3": 0.6, "4": 0.4},
    "3": {"5": 0.6, "2": 0.4},
    "4": {"5": 0.7, "2": 0.3},
    "3 5": {"6": 0.9, "7": 0.1},
}


def _tree(draw: Draw, tree: Tree, width: int, length_penalty: float, *, max_len: int = 10) -> Call:
    """A model made of a tree, with slightly changed probabilities."""
    table = {}
    for prefix, following in tree.items():
        changed = [p * (1 + 0.01 * draw.integer(-2, 2)) for p in following.values()]
        table[prefix] = {t: p / sum(changed) for t, p in zip(following, changed, strict=True)}
    model = draw_model(draw, vocab=10) | {"table": table}
    args = (model, draw_sources(draw, 1, 4), BOS, EOS, width, max_len, length_penalty)
    about = f"a model made of a table, width {width}, length_penalty {length_penalty}"
    return Call(args, about=about)


item = Item(
    "12.beam_search",
    reference=_beam_search,
    use=use_decoder,
    tolerance=1e-4,
    probes=[
        Probe(
            "with width 1 it is greedy decoding",
            lambda draw: [_tree(draw, ASTRAY, 1, 0.0), _at_random(draw, 1, 8, 0.6)],
        ),
        Probe(
            "it finds a more probable sentence where the most probable first token leads astray",
            lambda draw: [
                _tree(draw, ASTRAY, 2, 0.0),
                *(_at_random(draw, width, 6, 0.0) for width in (2, 3, 3)),
            ],
        ),
        Probe(
            "hypotheses are ranked by ln p / ((5 + n) / 6) ** length_penalty",
            lambda draw: [
                *(_tree(draw, ASTRAY, 3, alpha) for alpha in (0.0, 0.6, 1.5)),
                _tree(draw, LONG, 2, 0.6),
                *(_at_random(draw, 3, 8, alpha) for alpha in (0.6, 3.0)),
            ],
        ),
        Probe(
            "beams that end become hypotheses, and the search stays `width` wide",
            lambda draw: [
                _tree(draw, EARLY_END, 2, 1.5),
                _tree(draw, LATE_WINNER, 2, 1.5),
                _tree(draw, THIRD_BEAM, 3, 1.5),
                _at_random(draw, 3, 7, 0.6, vocab=5),
            ],
        ),
        Probe(
            "it stops at max_len, and truncated beams are hypotheses, too",
            lambda draw: [
                _tree(draw, CUT_OFF, 3, 0.6, max_len=3),
                *(_at_random(draw, 3, max_len, 0.6) for max_len in (1, 2, 15)),
            ],
        ),
        Probe(
            "any width and any ids",
            lambda draw: [
                _at_random(draw, 20, 3, 0.6, vocab=5),
                _at_random(draw, 3, 6, 0.6, ids=(4, 0, 6)),
            ],
        ),
        Probe(
            "dropout and gradients are off during the search, and the source is encoded once",
            lambda draw: [
                _at_random(
                    draw,
                    2,
                    5,
                    0.6,
                    train=train,
                    watch=[
                        "runs of the encoder",
                        "with dropout",
                        "with gradients",
                        "in training mode afterwards",
                    ],
                )
                for train in (True, False)
            ],
        ),
    ],
    hints=(
        "Write one step first: every beam continued by every token, and the best `width` of all "
        "these continuations. What happens to those that end with eos_id?",
        "A beam is a pair: its log-probability and its tokens. Encode once; at each step decode "
        "all beams as one batch (memory and source expanded to as many rows), add the beams' "
        "log-probabilities, sort, keep `width`. Those that have ended go into a list of "
        "hypotheses, the others are the next beams. At max_len all are hypotheses.",
        "logits = model.decode(prefixes, memory.expand(...), source.expand(...))[:, ...]\n"
        "log_p = logits.log_softmax(-1).tolist()\n"
        "ranked = sorted(((log_prob + more, [*tokens, token]) for ... for ...), reverse=True)\n"
        "kept = ranked[:...]\n"
        "and at the end max(hypotheses, key=lambda h: h[0] / ((5 + len(h[1])) / 6) ** ...)",
    ),
)


@item.misconception(
    "You score beams by their last token only, and forget the probability of the prefix.",
    why="A probable token after an improbable prefix would beat a probable sentence.",
    hint="ln p of a sentence is a sum. Over what?",
)
def prefixes_forgotten(*arguments: Any) -> Found:
    def extend(beams: Sequence[Beam], log_p: Tensor, width: int) -> list[Beam]:
        return _most_probable([(0.0, tokens) for _, tokens in beams], log_p, width)

    return _search(*arguments, extend=extend)


@item.misconception(
    "Each of your beams continues with its own best token: they never compete.",
    why="A weak beam survives to the end, and the second-best token of a strong one is lost.",
    hint="Put the continuations of all beams into one list before you choose.",
)
def each_for_itself(*arguments: Any) -> Found:
    def extend(beams: Sequence[Beam], log_p: Tensor, width: int) -> list[Beam]:
        if len(beams) == 1 and not beams[0][1]:
            return _most_probable(beams, log_p, width)
        return [
            best
            for beam, row in zip(beams, log_p, strict=True)
            for best in _most_probable([beam], row[None], 1)
        ]

    return _search(*arguments, extend=extend)


@item.misconception(
    "Your search returns the first hypothesis that ends.",
    why="The first to end is short, not necessarily good. Another beam may end later with a better "
    "score.",
    hint="When is the search over? What do you compare then?",
)
def first_end_wins(*arguments: Any) -> Found:
    return _search(*arguments, enough=lambda ended: ended > 0)


@item.misconception(
    "Your search stops as soon as there are `width` hypotheses.",
    why="Beams that are still active may end with a better score. The task says: until none is "
    "left.",
    hint="What if the best hypothesis is the longest?",
)
def width_ends_are_enough(*arguments: Any) -> Found:
    width = arguments[4]
    return _search(*arguments, enough=lambda ended: bool(ended >= width))


@item.misconception(
    "Your search gets narrower with each beam that ends.",
    why="The task keeps the `width` most probable continuations at each step, however many beams "
    "have ended before.",
    hint="How many continuations do you keep after one beam has ended?",
)
def gets_narrower(*arguments: Any) -> Found:
    return _search(*arguments, shrinks=True)


@item.misconception(
    "A beam that has ended is continued: tokens follow its EOS.",
    why="Whatever a model predicts after EOS is meaningless, and it crowds out other beams.",
    hint="Which beams may still be continued?",
)
def ended_talk_on(*arguments: Any) -> Found:
    return _search(*arguments, leaves=False)


@item.misconception(
    "Your score does not depend on length_penalty.",
    why="Each token lowers the log-probability, so the shortest hypotheses win.",
    hint="What are hypotheses ranked by at the end?",
)
def no_length_penalty(*arguments: Any) -> Found:
    return _search(*arguments, score=lambda log_prob, n, alpha: log_prob)


@item.misconception(
    "You multiply the log-probability by the penalty term.",
    why="The log-probability is negative: multiplying makes long sentences even worse.",
    hint="Which sentences should benefit from a larger length_penalty?",
)
def penalty_multiplied(*arguments: Any) -> Found:
    return _search(*arguments, score=lambda log_prob, n, alpha: log_prob * _normal(n, alpha))


@item.misconception(
    "You divide the log-probability by n ** length_penalty.",
    why="That's also in use, but it favours long sentences more. Here the base is ((5 + n) / 6), "
    "which is gentler.",
    hint="Look at the formula in the task: a 5 and a 6.",
)
def plain_length(*arguments: Any) -> Found:
    return _search(*arguments, score=lambda log_prob, n, alpha: log_prob / n**alpha)


@item.misconception(
    "Your length leaves out EOS.",
    why="n counts all generated tokens including EOS, whose probability is part of the sum.",
    hint="How many factors does the probability of the sentence have?",
)
def end_not_counted(*arguments: Any) -> Found:
    return _search(*arguments, score=lambda log_prob, n, alpha: log_prob / _normal(n - 1, alpha))


@item.misconception(
    "Your length counts BOS.",
    why="BOS is an input, and isn't generated. n counts the tokens whose probabilities are in the "
    "sum.",
    hint="How many factors does the probability of the sentence have?",
)
def begin_counted(*arguments: Any) -> Found:
    return _search(*arguments, score=lambda log_prob, n, alpha: log_prob / _normal(n + 1, alpha))


@item.misconception(
    "Your search drops beams truncated at max_len if any other beam has ended.",
    why="A truncated beam may have the best score, and the task counts it.",
    hint="What is a hypothesis at the last step?",
)
def cut_off_is_dropped(*arguments: Any) -> Found:
    model, source, bos_id, eos_id, width, max_len, length_penalty = arguments
    with evaluating(model):
        found = _hypotheses(model, source, bos_id, eos_id, width, max_len)
    ended = [each for each in found if each[1][-1] == eos_id] or found
    scored = [
        (log_prob / _normal(len(tokens), length_penalty), tokens) for log_prob, tokens in ended
    ]
    best = max(scored, key=lambda each: each[0])
    return best[1], best[0]


@item.misconception(
    "Your search always finds the greedy sentence.",
    why="You keep only one prefix. The most probable first token need not start the most probable "
    "sentence.",
    hint="How many continuations do you keep at each step?",
)
def greedy_whatever_the_width(*arguments: Any) -> Found:
    model, source, bos_id, eos_id, _, max_len, length_penalty = arguments
    return _search(model, source, bos_id, eos_id, 1, max_len, length_penalty)


@item.misconception(
    "Dropout is on while your search runs.",
    why="The model comes as training left it, and with dropout it's a different model at each "
    "step.",
    hint="`evaluating` is imported. What does it do?",
)
def dropout_left_on(*arguments: Any) -> Found:
    model, source, bos_id, eos_id, width, max_len, length_penalty = arguments
    with torch.no_grad():
        found = _hypotheses(model, source, bos_id, eos_id, width, max_len)
    scored = [
        (log_prob / _normal(len(tokens), length_penalty), tokens) for log_prob, tokens in found
    ]
    best = max(scored, key=lambda each: each[0])
    return best[1], best[0]
