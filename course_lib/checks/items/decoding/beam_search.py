"""13.beam_search: keep the most probable hypotheses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import torch
from torch import Tensor

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.items.decoding.shared_switches import (
    add_encodes_again,
    add_mode_not_put_back,
)
from course_lib.checks.items.decoding.toy_model import (
    ToyModel,
    draw_model,
    draw_sources,
    use_decoder,
)
from course_lib.decoding import beam_search as library_search
from course_lib.decoding import length_normaliser
from course_lib.model import Transformer

BOS, EOS = 1, 2


Beam = tuple[float, list[int]]  # log-probability, and the tokens without BOS


Found = tuple[list[int], float]


def _search_with(on: frozenset[str]) -> Callable[..., Found]:
    """``beam_search`` with these misconceptions."""

    def answer(
        model: Transformer,
        source: Tensor,
        bos_id: int,
        eos_id: int,
        width: int,
        max_len: int,
        length_penalty: float,
    ) -> Found:
        training = model.training
        if "dropout_left_on" not in on:
            model.eval()
        with torch.set_grad_enabled("gradients_recorded" in on):
            width = 1 if "greedy_whatever_the_width" in on else width
            steps = max_len - 1 if "one_token_too_few" in on else max_len
            found = hypotheses(model, source, bos_id, eos_id, width, steps)
        if "mode_not_put_back" not in on:
            model.train(training)
        if on & {"cut_off_is_dropped", "cut_off_is_lost"}:
            ended = [beam for beam in found if beam[1][-1] == eos_id]
            found = ended or (found if "cut_off_is_dropped" in on else [])
        log_prob, tokens = max(
            found, key=lambda beam: score(beam, eos_id, length_penalty, "chosen")
        )
        result = score((log_prob, tokens), eos_id, length_penalty, "returned")
        if "end_left_out" in on and tokens[-1] == eos_id:
            tokens = tokens[:-1]
        return [bos_id, *tokens] if "begin_kept" in on else tokens, result

    def hypotheses(
        model: Transformer, source: Tensor, bos_id: int, eos_id: int, width: int, max_len: int
    ) -> list[Beam]:
        memory = model.encode(source)
        beams: list[Beam] = [(0.0, [])]
        found: list[Beam] = []
        for length in range(1, max_len + 1):
            if "encodes_again" in on:
                memory = model.encode(source)
            prefixes = torch.tensor([[bos_id, *tokens] for _, tokens in beams])
            rows = len(beams)
            logits = model.decode(prefixes, memory.expand(rows, -1, -1), source.expand(rows, -1))
            narrower = len(found) if "gets_narrower" in on else 0
            kept = extended(beams, logits[:, -1], width - narrower, eos_id)
            found += [beam for beam in kept if beam[1][-1] == eos_id or length == max_len]
            stays = "ended_talk_on" in on
            beams = [beam for beam in kept if stays or beam[1][-1] != eos_id]
            if not beams or enough(found, kept, width, eos_id):
                break
        return found

    def enough(found: list[Beam], kept: list[Beam], width: int, eos_id: int) -> bool:
        if "best_end_is_enough" in on:
            return kept[0][1][-1] == eos_id
        needed = 1 if "first_end_wins" in on else width
        return bool(on & {"first_end_wins", "width_ends_are_enough"}) and len(found) >= needed

    def extended(beams: list[Beam], logits: Tensor, width: int, eos_id: int) -> list[Beam]:
        log_p = logits.log_softmax(dim=-1)
        if "logits_added" in on:
            log_p = logits
        if "probabilities_added" in on:
            log_p = log_p.exp()
        if "prefixes_forgotten" in on:
            beams = [(0.0, tokens) for _, tokens in beams]
        if "each_for_itself" in on and beams[0][1]:
            pairs = zip(beams, log_p, strict=True)
            return [best for beam, row in pairs for best in most_probable([beam], row[None], 1)]
        if on & {"ends_do_not_count", "only_the_best_ends_do_not_count"}:
            ranked = most_probable(beams, log_p, log_p.numel())
            ends = [beam[1][-1] == eos_id for beam in ranked]
            room = [i for i, ended in enumerate(ends) if not ended][:width]
            last = room[-1] if "ends_do_not_count" in on and len(room) == width else width - 1
            return [beam for i, beam in enumerate(ranked) if i in room or (ends[i] and i <= last)]
        return most_probable(beams, log_p, width)

    def most_probable(beams: list[Beam], log_p: Tensor, width: int) -> list[Beam]:
        """The ``width`` best of all continuations, best first."""
        total = torch.tensor([[log_prob] for log_prob, _ in beams]) + log_p
        best, index = total.flatten().topk(min(width, total.numel()))
        beam, token = index // log_p.size(1), index % log_p.size(1)
        found = zip(best.tolist(), beam.tolist(), token.tolist(), strict=True)
        return [(p, [*beams[b][1], t]) for p, b, t in found if p > -torch.inf]

    def score(beam: Beam, eos_id: int, alpha: float, what: str) -> float:
        log_prob, n = beam[0], len(beam[1])
        if on & {"no_length_penalty", f"plain_ln_p_is_{what}"}:
            return log_prob
        ended = beam[1][-1] == eos_id
        if "begin_counted" in on:
            n += 1
        elif "end_not_counted" in on or ("end_not_counted_if_there" in on and ended):
            n -= 1
        if "mean_per_token" in on:
            return log_prob / n
        if "plain_length" in on:
            return log_prob / n**alpha
        if "brackets_missing" in on:
            return log_prob / (5 + n / 6) ** alpha
        if "penalty_is_a_factor" in on:
            return log_prob / (cast(float, length_normaliser(n, 1.0)) * alpha or 1.0)
        normal = cast(float, length_normaliser(n, alpha))
        return log_prob * normal if "penalty_multiplied" in on else log_prob / normal

    return answer


_beam_search = _search_with(frozenset())


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
    mean: float = 0.0,
    **options: Any,
) -> Call:
    """A model that is uncertain at each token and may end anywhere."""
    bos_id, eos_id, pad_id = ids
    about = f"width {width}, max_len {max_len}, length_penalty {length_penalty}"
    about += f", logits around {mean:g}" if mean else ""
    while True:
        model = draw_model(draw, vocab=vocab, pad_id=pad_id, max_len=15, mean=mean, std=1.5)
        source = draw_sources(draw, 1, 5, pad_id=pad_id)
        args = (model, source, bos_id, eos_id, width, max_len, length_penalty)
        if _same_with_greedy_prefix(call := Call(args, options, about=about)):
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


END_TAKES_A_PLACE: Tree = {  # of two beams one ends at once; the third would have won
    "": {"3": 0.40, "2": 0.35, "4": 0.25},
    "3": {"5": 0.7, "6": 0.3},
    "4": {"7": 1.0},
    "4 7": {"8": 1.0},
    "4 7 8": {"9": 1.0},
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


IMPROBABLE: Tree = {  # with a large penalty, the longest wins, whose first token is improbable
    "": {"3": 0.5, "2": 0.5, "4": 2e-9},
    **{" ".join("4567895678"[:n]): {"4567895678"[n]: 1.0} for n in range(1, 10)},
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
    "13.beam_search",
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
                _tree(draw, END_TAKES_A_PLACE, 2, 1.5),
                _tree(draw, THIRD_BEAM, 3, 1.5),
                _tree(draw, IMPROBABLE, 3, 5.0, max_len=14),
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
            "any width, any ids, and logits of any size",
            lambda draw: [
                _at_random(draw, 20, 3, 0.6, vocab=5),
                _at_random(draw, 3, 6, 0.6, ids=(4, 0, 6)),
                _at_random(draw, 2, 6, 0.6, mean=-50.0),
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
        "A beam is a pair: its log-probability and its tokens. Encode once. At each step, decode "
        "all beams as one batch, with memory and source expanded to as many rows. Add the "
        "log-probabilities of the beams, sort, and keep `width` continuations. Those that have "
        "ended go into a list of hypotheses, and the others are the next beams. At max_len all of "
        "them are hypotheses.",
        "By hand, with width 2: the beams are a, with ln p −0.5, and b, with −1.0. After a, the "
        "tokens x and y have ln p −0.2 and −1.5; after b, they have −0.1 and −2.0. So ax, ay, bx "
        "and by have −0.7, −2.0, −1.1 and −3.0, and ax and bx are kept. Python sorts tuples by "
        "their first entry, with reverse=True the highest first. And memory.expand(3, -1, -1) is "
        "the same memory for three beams.",
    ),
)


item.switchable(_search_with)
item.switch(
    "prefixes_forgotten",
    "You score beams by their last token only, and forget the probability of the prefix.",
    why="A probable token after an improbable prefix would beat a probable sentence.",
    hint="ln p of a sentence is a sum. Over what?",
)
item.switch(
    "logits_added",
    "You add up logits, not log-probabilities.",
    why="Logits of two prefixes can't be compared: adding a constant to all logits of one "
    "prefix changes no probability, but it would change which beam wins.",
    hint="What turns a row of logits into ln p?",
)
item.switch(
    "probabilities_added",
    "You add up probabilities, not their logarithms.",
    why="The probability of a sentence is the product of its tokens' probabilities. A sum would "
    "grow with each token.",
    hint="Which function turns a product into a sum?",
)
item.switch(
    "each_for_itself",
    "Each of your beams continues with its own best token: they never compete.",
    why="A weak beam survives to the end, and the second-best token of a strong one is lost.",
    hint="Put the continuations of all beams into one list before you choose.",
)
item.switch(
    "greedy_whatever_the_width",
    "Your search always finds the greedy sentence, however wide it is.",
    why="You keep only one prefix, or `width` copies of the same one: equal copies have equal "
    "continuations. The most probable first token need not start the most probable sentence.",
    hint="How many different beams do you have before the first step, and how many after it?",
)
item.switch(
    "first_end_wins",
    "Your search is over as soon as a hypothesis has ended.",
    why="The first to end is short, not necessarily good. Another beam may end later with a better "
    "score.",
    hint="When is the search over? What do you compare then?",
)
item.switch(
    "best_end_is_enough",
    "Your search stops as soon as the most probable beam ends.",
    why="A beam that's less probable now may end with a better score, because ln p is divided by "
    "more for a longer hypothesis. The task says: until none is left.",
    hint="What if the best hypothesis is the longest?",
)
item.apart.append({"each_for_itself", "best_end_is_enough"})
item.switch(
    "width_ends_are_enough",
    "Your search stops as soon as there are `width` hypotheses.",
    why="Beams that are still active may end with a better score. The task says: until none is "
    "left.",
    hint="What if the best hypothesis is the longest?",
)
item.switch(
    "gets_narrower",
    "Your search gets narrower with each beam that ends.",
    why="The task keeps the `width` most probable continuations at each step, however many beams "
    "have ended before.",
    hint="How many continuations do you keep after one beam has ended?",
)
item.switch(
    "ends_do_not_count",
    "You always keep `width` active beams: continuations that end don't count.",
    why="Published code often does that. But here the `width` best continuations are kept, ended "
    "or not, so with yours the search goes on after it should be over.",
    hint="If one of the `width` best continuations ends, how many beams go on?",
)
item.switch(
    "ended_talk_on",
    "A beam that has ended is continued: tokens follow its EOS.",
    why="Whatever a model predicts after EOS is meaningless, and it crowds out other beams.",
    hint="Which beams may still be continued?",
)
item.switch(
    "no_length_penalty",
    "Your score does not depend on length_penalty.",
    why="Each token lowers the log-probability, so short hypotheses have an advantage.",
    hint="What are hypotheses ranked by at the end?",
)
item.switch(
    "plain_ln_p_is_chosen",
    "You return the hypothesis with the highest ln p, and not the one with the highest score.",
    why="The length penalty is there to compare hypotheses of different lengths: both the choice "
    "and the decision to stop have to use it.",
    hint="By which number do you choose the best hypothesis, and with which do you decide that no "
    "beam can still beat it?",
)
item.switch(
    "plain_ln_p_is_returned",
    "You choose the right hypothesis, but the score that you return is its ln p.",
    why="The task asks for the score by which it won, with the length penalty.",
    hint="Compare the number that you rank by with the number that you return.",
)
item.switch(
    "penalty_multiplied",
    "You multiply the log-probability by the penalty term.",
    why="The log-probability is negative: multiplying makes long sentences even worse.",
    hint="Which sentences should benefit from a larger length_penalty?",
)
item.switch(
    "plain_length",
    "You divide the log-probability by n or a power of n.",
    why="That's also common, but it favours long sentences more. Here the base is ((5 + n) / 6), "
    "which is gentler.",
    hint="Look at the formula in the task: a 5 and a 6.",
    spellings=["mean_per_token"],
)
item.switch(
    "brackets_missing",
    "Your length penalty isn't the task's formula: a bracket is missing, or α isn't an exponent.",
    why="Scores can be compared with published ones only if the formula is the same. In the "
    "task's formula, a hypothesis of a single token has the divisor 1, whatever α is.",
    hint="What does your formula divide by for n = 1, and what should it divide by? Try two "
    "values of α.",
    spellings=["penalty_is_a_factor"],
)
item.switch(
    "end_not_counted",
    "Your length is one too small where a hypothesis ends with EOS.",
    why="n counts all generated tokens including EOS, whose probability is part of the sum.",
    hint="How many factors does the probability of the sentence have?",
    spellings=["end_not_counted_if_there"],
)
item.switch(
    "begin_counted",
    "Your length is one too large, as if BOS were counted.",
    why="BOS is an input, and isn't generated. n counts the tokens whose probabilities are in the "
    "sum.",
    hint="How many factors does the probability of the sentence have?",
)
item.switch(
    "cut_off_is_dropped",
    "Your search drops beams truncated at max_len, at least where another one has ended.",
    why="A truncated beam may have the best score, and the task counts it.",
    hint="What is a hypothesis at the last step?",
    spellings=["cut_off_is_lost"],
)
item.switch(
    "one_token_too_few",
    "Your hypotheses have at most max_len − 1 tokens.",
    why="BOS is an input, and isn't generated. max_len counts generated tokens.",
    hint="With max_len 1, how many tokens come out?",
)
item.switch(
    "begin_kept",
    "Your tokens still start with BOS.",
    why="It's part of the decoder's input, not of the translation.",
    hint="What do you have to leave out at the end?",
)
item.switch(
    "end_left_out",
    "Your tokens leave out EOS.",
    why="The task keeps it. It tells a sentence that has ended from one that was truncated at "
    "max_len.",
    hint="What is the last token of a hypothesis that has ended?",
)
item.switch(
    "dropout_left_on",
    "Dropout is on while your search runs.",
    why="The model comes as training left it, and with dropout it's a different model at each "
    "step.",
    hint="`evaluating` is imported. What does it do?",
)
add_mode_not_put_back(item)
item.switch(
    "gradients_recorded",
    "Your search records a graph for gradients that nobody needs.",
    why="Every step keeps its activations for a backward pass: that costs time and memory.",
    hint="What does `evaluating` switch off besides dropout?",
)
add_encodes_again(item)
