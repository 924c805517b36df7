"""16.join_pairs: source and target in one row, with the labels that count."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib import modern
from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.modern import IGNORED

Ids = list[int]
Pairs = list[tuple[Ids, Ids]]
Joined = tuple[Tensor, Tensor, Tensor]
IDS = {"pad_id": 0, "bos_id": 1, "eos_id": 2}


def _pairs(draw: Draw, *lengths: tuple[int, int], low: int = 4) -> Pairs:
    """Pairs of these lengths, of source and target."""
    return [(draw.ids(s, low=low).tolist(), draw.ids(t, low=low).tolist()) for s, t in lengths]


def _call(pairs: Pairs, about: str, **ids: int) -> Call:
    return Call((pairs,), {**IDS, **ids}, about=about)


item = Item(
    "16.join_pairs",
    reference=modern.join_pairs,
    probes=[
        Probe(
            "a row is the source, BOS, the target, EOS, and the label is the token that follows",
            lambda draw: [
                _call(_pairs(draw, (3, 4)), "one pair"),
                _call(_pairs(draw, (3, 4), (3, 4)), "two pairs of equal lengths"),
            ],
        ),
        Probe(
            "the padding stands at the end of a row, and each prefix is as long as its own source",
            lambda draw: [
                _call(_pairs(draw, (2, 5), (5, 2), (4, 1)), "sources of 2, 5 and 4 tokens"),
                _call(_pairs(draw, (6, 3), (1, 4)), "the first pair is the longest"),
                _call(_pairs(draw, (1, 1), (7, 4)), "a short pair beside a long one"),
            ],
        ),
        Probe(
            "any ids: 0 may be a word, and a source may hold the ids of BOS and EOS",
            lambda draw: [
                _call(
                    [([7, 0, 5], [0, 9]), ([6], [8, 0, 4])],
                    "pad_id is 3, BOS 21, EOS 20, and 0 is a word",
                    pad_id=3,
                    bos_id=21,
                    eos_id=20,
                ),
                _call(
                    [([5, 2], [6]), ([1, 4, 2], [7, 8, 5])], "each source ends with the id of EOS"
                ),
                _call(_pairs(draw, (2, 2), (1, 1)), "padding has the id of EOS", pad_id=2),
            ],
        ),
        Probe(
            "single tokens and an empty target work, too",
            lambda draw: [
                _call(_pairs(draw, (1, 1), (1, 1)), "sources and targets of one token"),
                _call(_pairs(draw, (2, 0), (3, 2)), "an empty target: only EOS is predicted"),
            ],
        ),
    ],
    hints=(
        "Write one pair down as a row, and below each token the one that comes next. Which of "
        "these labels would a translator have to know?",
        "Make a list for each row and a list of its labels, equally long: IGNORED for each "
        "source token, then the tokens that follow BOS, then IGNORED below EOS. Only then fill up "
        "both to the longest row, each with what belongs there.",
        "If the source is 7 8 and the target 9, the labels of 7 8 BOS 9 EOS are three IGNORED and "
        "two tokens: which of the five positions have the two? [IGNORED] * 3 is a list of three. "
        "And the prefix is len(source): BOS is the first token that isn't the source's.",
    ),
)


@item.switchable
def joined_with(on: frozenset[str]) -> Callable[..., Joined]:
    """join_pairs with these misconceptions."""

    def answer(pairs: Pairs, *, pad_id: int, bos_id: int, eos_id: int) -> Joined:
        bos = [] if on & {"no_bos", "no_bos_but_all_predicted"} else [bos_id]
        eos = [] if "no_eos" in on else [eos_id]
        rows, labels, prefixes = [], [], []
        widest = max(len(source) for source, _ in pairs)
        for first, second in pairs:
            source, target = (second, first) if "target_first" in on else (first, second)
            if "source_has_an_end" in on:
                source = [*source, eos_id]
            between = on & {"padding_between", "padding_between_not_counted"}
            gap = [pad_id] * (widest - len(source) if between else 0)
            if "padding_in_front" in on:
                gap, source = [], [pad_id] * (widest - len(source)) + source
            bos = [eos_id] if "eos_for_bos" in on else bos
            row = [*source, *gap, *bos, *target, *eos]
            start = len(source) + len(gap)
            if on & {"bos_in_front", "bos_twice"}:
                row = [bos_id, *source, *(bos if "bos_twice" in on else []), *target, *eos]
                start += int("bos_twice" in on)
            rows.append(row)
            labels.append(labels_of(row, start))
            prefixes.append(prefix_of(source, gap, row))
            if "bos_looked_up" in on and bos_id in row:
                prefixes[-1] = row.index(bos_id)
        length = max(map(len, rows))
        pads = {"pad_for_ignored", "padding_predicted", "pads_predicted_and_not_below_end"}
        ignored = pad_id if on & pads else nothing()
        filled = [row + [pad_id] * (length - len(row)) for row in rows]
        below = [row + [ignored] * (length - len(row)) for row in labels]
        if on & {"padding_on_the_left", "padding_on_the_left_and_counted"}:
            filled = [[pad_id] * (length - len(row)) + row for row in rows]
            below = [[ignored] * (length - len(row)) + row for row in labels]
        if on & {"padding_predicted", "end_has_a_label"}:
            below = [
                [pad_id if i == len(row) - 1 else n for i, n in enumerate(each)]
                for row, each in zip(rows, below, strict=True)
            ]
        if on & {"rolled_round", "rolled_round_but_pads"}:
            below = [
                [nothing() if i < n else id for i, id in enumerate([*row[1:], row[0]])]
                for n, row in zip(prefixes, filled, strict=True)
            ]
        if "rolled_round_but_pads" in on:
            below = [
                [nothing() if id == pad_id else n for id, n in zip(row, each, strict=True)]
                for row, each in zip(filled, below, strict=True)
            ]
        if "pads_by_value" in on:
            below = [[nothing() if n == pad_id else n for n in row] for row in below]
        if "pad_is_zero" in on:
            filled = [row + [0] * (length - len(row)) for row in rows]
        if "pad_for_ignored" in on:
            below = [[pad_id if n == nothing() else n for n in row] for row in below]
        prefix = torch.tensor(prefixes)
        if "padding_on_the_left_and_counted" in on:
            prefix = prefix + length - torch.tensor([len(row) for row in rows])
        if "longest_prefix_for_all" in on:
            prefix = prefix.max().expand(len(prefix)).clone()
        tokens, under = torch.tensor(filled), torch.tensor(below)
        if on & {"last_column_cut", "last_label_cut"}:
            tokens, under = tokens[:, :-1] if "last_column_cut" in on else tokens, under[:, :-1]
        return (tokens, under, prefix) if "labels_second" in on else (tokens, prefix, under)

    def nothing() -> int:
        return -1 if "minus_one" in on else IGNORED

    def prefix_of(source: Ids, gap: Ids, row: Ids) -> int:
        if "prefix_is_the_target" in on:
            return len(row) - len(source) - 2
        if "prefix_is_the_row" in on:
            return len(row)
        more = int("bos_in_the_prefix" in on) - int("prefix_one_short" in on)
        return len(source) + len(gap) * int("padding_between" in on) + more

    def labels_of(row: Ids, start: int) -> Ids:
        """Of one row in which BOS stands at ``start``."""
        ahead = 1
        if "not_shifted" in on:
            ahead = 0
        if on & {"shifted_twice", "shifted_twice_from_the_source_on"}:
            ahead = 2
        counted = range(start + int("first_not_predicted" in on), len(row) - 1)
        if "not_shifted" in on:
            counted = range(counted.start + 1, len(row))
        if on & {"shifted_twice", "shifted_twice_from_the_source_on"}:
            counted = range(counted.start, len(row) - 2)
        if on & {"source_counted", "source_counted_but_bos"}:
            counted = range(0, counted.stop)
        early = {"bos_predicted", "shifted_twice_from_the_source_on", "no_bos_but_all_predicted"}
        if on & early:
            counted = range(min(counted.start, start - 1), counted.stop)
        if "end_not_predicted" in on:
            counted = range(counted.start, counted.stop - 1)
        labels = [row[i + ahead] if i in counted else nothing() for i in range(len(row))]
        if "source_counted_but_bos" in on:
            labels[start - 1] = nothing()
        if "not_shifted_from_bos" in on:
            labels = [nothing()] * start + row[start:]
        return labels

    return answer


item.switch(
    "not_shifted",
    "Your labels aren't shifted: below each token of the target stands the token itself.",
    why="The model reads the token that it has to predict, so it need only copy it. Its loss goes "
    "to 0, and it has learned nothing.",
    hint="Write down a row, and below BOS the token that should come next.",
    spellings=["not_shifted_from_bos"],
)
item.switch(
    "shifted_twice",
    "Your labels are shifted twice: below each token stands the one after the next.",
    why="The second word is trained at BOS, and nothing is trained to write the first. There is no "
    "error, and the loss falls in training, but what the model writes is no translation.",
    hint="Which token is the label below BOS: the first of the target, or the second?",
    spellings=["shifted_twice_from_the_source_on"],
)
item.switch(
    "source_counted",
    "The source has labels, too: your loss is that of the whole row.",
    why="The source is given, and nobody has to write it. Much of such a loss is about guessing "
    "German sentences, and it can't be compared with a translator's.",
    hint="Below which token does the first label stand?",
    spellings=["source_counted_but_bos"],
)
item.switch(
    "bos_predicted",
    "The last token of the source has a label that counts.",
    why="What follows the source isn't predicted either: it is given, and says where the "
    "translation begins. The first label that counts stands below it.",
    hint="How many tokens does a translator write for a target of three tokens?",
)
item.switch(
    "first_not_predicted",
    "BOS has no label, so nothing is trained to write the first token of the target.",
    why="A translation begins after BOS, with a token that the model has to choose. If the first "
    "one is left to chance, so is the rest.",
    hint="Below which token should the first token of the target stand?",
)
item.switch(
    "end_not_predicted",
    "EOS is no label: nothing is trained to stop.",
    why="The model would never learn where a sentence ends, and write on to the maximum length.",
    hint="Which label stands below the last token of the target?",
)
item.switch(
    "padding_predicted",
    "There are labels that count below EOS, or below the padding.",
    why="After EOS there is nothing to write. To predict a pad is easy and proves nothing, and "
    "what `roll` brings round from the front is the first token of the source.",
    hint="Which label is the last one that counts?",
    spellings=[
        "pads_predicted_and_not_below_end",
        "end_has_a_label",
        "rolled_round",
        "rolled_round_but_pads",
    ],
)
item.switch(
    "pad_for_ignored",
    "Where nothing is to be predicted, your label is pad_id instead of IGNORED.",
    why="The loss leaves out IGNORED, and nothing else: it would train the source to predict pads.",
    hint="What does PyTorch's cross-entropy leave out unless it is told otherwise?",
)
item.switch(
    "minus_one",
    "Where nothing is to be predicted, your label is -1 instead of IGNORED.",
    why="IGNORED is -100, which PyTorch's cross-entropy leaves out. For -1 it raises an error.",
    hint="IGNORED is imported. Use its name.",
)
item.switch(
    "padding_between",
    "You fill up the sources first, so that padding stands between source and target.",
    why="Those pads are in the past of every target token, and nothing masks them. A sentence "
    "would be translated otherwise beside a longer one.",
    hint="How many pads are there between the last token of a short source and BOS?",
    spellings=["padding_between_not_counted"],
)
item.switch(
    "padding_in_front",
    "Your sources are filled up on their left, so that all BOS stand in one column.",
    why="The pads move every token to another position, and since nothing masks them, all of the "
    "row sees them.",
    hint="Where does a short row begin in your batch?",
)
item.switch(
    "padding_on_the_left",
    "Your padding is on the left.",
    why="There it is in the past of every token, and nothing masks it; and it moves a sentence to "
    "other positions. On the right it's in the future of all real tokens, where it does no harm.",
    hint="Which side of a row does a causal mask hide?",
    spellings=["padding_on_the_left_and_counted"],
)
item.switch(
    "bos_in_the_prefix",
    "Your prefix counts BOS as a part of the source.",
    why="The prefix is what all of it may see. In this course BOS is the first token of the "
    "target: the source doesn't look at it.",
    hint="For a source of three tokens, how long is the prefix?",
)
item.switch(
    "prefix_one_short",
    "Your prefix is one token shorter than the source.",
    why="The other source tokens couldn't see its last one.",
    hint="For a source of three tokens, how long is the prefix?",
)
item.switch(
    "longest_prefix_for_all",
    "Every row has the prefix of the longest source.",
    why="In a row with a shorter source, the prefix reaches into the target: it sees what it "
    "should predict.",
    hint="One number a row: which source does each belong to?",
)
item.switch(
    "no_bos",
    "There is no BOS between source and target.",
    why="Something has to say that the source ends here and the translation begins, and the "
    "first target token is predicted at that position.",
    hint="Which four parts does a row have before its padding?",
    spellings=["no_bos_but_all_predicted"],
)
item.switch(
    "no_eos",
    "Your rows don't end with EOS.",
    why="Without EOS a model never learns where a sentence ends.",
    hint="Which four parts does a row have before its padding?",
)
item.switch(
    "source_has_an_end",
    "You put an EOS behind the source, too.",
    why="BOS says already that the source ends. One more EOS is one more token in every layer, and "
    "code that looks for the first EOS stops there.",
    hint="Which four parts does a row have before its padding?",
)
item.switch(
    "target_first",
    "The target stands in front of the source.",
    why="What has to be predicted comes last: the prefix is the source.",
    hint="Which entry of a pair comes first?",
)
item.switch(
    "prefix_is_the_target",
    "Your prefix is as long as the target, not as the source.",
    why="The prefix is what all of it may see: the source, at the start of the row.",
    hint="Which entry of a pair does your prefix count?",
)
item.switch(
    "prefix_is_the_row",
    "Your prefix is the whole row, the target included.",
    why="All tokens of a prefix see one another. With the target in it, the model reads off what "
    "it should predict.",
    hint="Which part of a row is given to the translator?",
)
item.switch(
    "eos_for_bos",
    "Between source and target stands EOS instead of BOS.",
    why="Some models do use one token for both. This one is asked for BOS, and the two ids differ.",
    hint="Which of the two ids says that the translation begins?",
)
item.switch(
    "bos_in_front",
    "Your rows begin with BOS.",
    why="BOS says where the *translation* begins, and that's after the source.",
    hint="Which four parts does a row have before its padding, and in which order?",
    spellings=["bos_twice"],
)
item.switch(
    "bos_looked_up",
    "You look for BOS by its id to find the end of the source.",
    why="A source may hold this id, and then the prefix ends there. How long a source is, you "
    "know without searching.",
    hint="What would your code do with the source [7, bos_id, 8]?",
)
item.switch(
    "pads_by_value",
    "You find the padding among the labels by its id.",
    why="A real token may have that id, EOS for instance, and then it is no longer predicted. "
    "How long each row is, you know without searching.",
    hint="What would your code do with a batch in which pad_id is eos_id?",
)
item.switch(
    "pad_is_zero",
    "You always fill up with 0, whatever pad_id is.",
    why="Where another id is the pad token, 0 may be a word, and your rows would end with it.",
    hint="Does your code use pad_id?",
)
item.switch(
    "last_column_cut",
    "You cut off the last column, as for a decoder's input.",
    why="Here tokens and labels stand below each other in one row of length L: the label below "
    "EOS is IGNORED, and nothing has to be cut.",
    hint="How many columns does the longest row have: source, BOS, target and EOS?",
    spellings=["last_label_cut"],
)
item.switch(
    "labels_second",
    "Your tensors come in another order: the labels before the prefix.",
    why="The task asks for tokens, prefix, labels.",
    hint="Compare your last line with the list in the task.",
)
# In rows without BOS there is no label below it, and none that is it.
item.apart += [{"no_bos", "bos_predicted"}, {"no_bos", "first_not_predicted"}]
