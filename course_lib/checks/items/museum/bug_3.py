"""15.bug_3: blank lines dropped from each side separately."""

from __future__ import annotations

from collections.abc import Collection

from course_lib.checks.engine import Bug, Call, Draw, Item, Probe

LINES = """\
def read_pairs(source_text, target_text):
    sides = [source_text.splitlines(), target_text.splitlines()]
    sides = [[line.strip() for line in side] for side in sides]
    sides = [[line for line in side if line] for side in sides]
    return list(zip(*sides))
"""


Pairs = list[tuple[str, str]]


def _stripped(source_text: str, target_text: str) -> Pairs:
    sides = [source_text.splitlines(), target_text.splitlines()]
    return [(source.strip(), target.strip()) for source, target in zip(*sides, strict=True)]


def _read_pairs(source_text: str, target_text: str) -> Pairs:
    return [pair for pair in _stripped(source_text, target_text) if all(pair)]


def _texts(
    draw: Draw,
    length: int,
    *,
    source: Collection[int] = (),
    target: Collection[int] = (),
    blank: str = "",
    about: str,
) -> Call:
    """Two texts of ``length`` lines, with these lines blank."""
    sides = []
    for language, holes in (("de", source), ("en", target)):
        lines = [f"{language} {i} {draw.integer(100, 999)}" for i in range(length)]
        sides.append("\n".join(blank if i in holes else line for i, line in enumerate(lines)))
    return Call(tuple(side + "\n" for side in sides), about=about)


def _blank_on_one_side(draw: Draw) -> list[Call]:
    return [
        _texts(draw, 6, source=[2], about="a blank line in the source"),
        _texts(draw, 5, target=[1, 3], about="two blank lines in the target"),
        _texts(draw, 7, source=[1], target=[4], about="one blank line in each, not the same"),
    ]


def _blank_on_both(draw: Draw) -> list[Call]:
    return [
        _texts(draw, 5, source=[2], target=[2], about="the same line is blank in both"),
        _texts(draw, 6, source=[0, 3, 5], target=[0, 4], about="the first and the last line"),
        _texts(draw, 3, source=[0, 1], target=[1, 2], about="no pair is left"),
    ]


item = Item(
    "15.bug_3",
    reference=_read_pairs,
    bug=Bug(LINES, line=4),
    probes=[
        Probe("each line keeps its translation", _blank_on_one_side),
        Probe("a pair with a blank side is dropped", _blank_on_both),
        Probe(
            "lines of spaces count as blank, too",
            lambda draw: [
                _texts(draw, 5, source=[1], blank="   ", about="a source line of spaces"),
                _texts(draw, 5, target=[3], blank=" \t ", about="a target line of spaces and tab"),
            ],
        ),
        Probe(
            "if nothing is blank, nothing is lost",
            lambda draw: [
                _texts(draw, 4, about="no blank line"),
                _texts(draw, 1, about="a single pair"),
                Call(("  ein Satz \n", "\ta sentence\n"), about="spaces around the sentences"),
                Call(("ja\nja\nnein", "yes\nyes\nno"), about="the same pair twice"),
            ],
        ),
    ],
    hints=(
        "Take three lines on each side, with the second line of one side blank. Which pairs do you "
        "get?",
        "Each side drops its own blank lines. After the first of them, which lines are paired? The "
        "program doesn't fail, because zip stops at the end of the shorter side.",
        'zip pairs what stands at the same index: list(zip("abc", "xyz")) is a x, b y, c z. So '
        "pair the lines first, and leave something out only then: [n for n in (3, 0, 5) if n] "
        "leaves out the 0. An empty text counts as False, just as 0 does. When should a pair stay?",
    ),
)


@item.misconception(
    "Each side still drops its own blank lines: after one that is blank on one side only, the "
    "lines are misaligned.",
    why="zip stops at the end of the shorter side without a warning. The model is then trained on "
    "sentences paired with their neighbours' translations.",
    hint="What has to be true of both sides together before a line may be dropped?",
)
def each_side_by_itself(source_text: str, target_text: str) -> Pairs:
    pairs = _stripped(source_text, target_text)
    sides = [[line for line in side if line] for side in zip(*pairs, strict=True)]
    return list(zip(*sides, strict=False))


@item.misconception(
    "The lines stay aligned, but blank ones are kept: some pairs have nothing on one side.",
    why="The model would learn to translate nothing into a sentence, and a sentence into nothing.",
    hint="Line 4 was wrong in how it drops lines, not in dropping them.",
)
def blanks_stay(source_text: str, target_text: str) -> Pairs:
    return _stripped(source_text, target_text)


@item.misconception(
    "You drop a pair only if both sides are blank.",
    why="Half a pair is no use for training: it's a question without an answer, or an answer "
    "without a question.",
    hint="Which sides must a pair have to be kept?",
)
def only_if_both_are_blank(source_text: str, target_text: str) -> Pairs:
    return [pair for pair in _stripped(source_text, target_text) if any(pair)]


@item.misconception(
    "You check only the source: blank translations are kept.",
    why="A sentence with an empty translation trains the model to output nothing.",
    hint="Either side may be blank.",
)
def only_the_source_is_looked_at(source_text: str, target_text: str) -> Pairs:
    return [pair for pair in _stripped(source_text, target_text) if pair[0]]


@item.misconception(
    "You check only the target: blank sources are kept.",
    why="A model that gets no source but has to produce a sentence learns to make things up.",
    hint="Either side may be blank.",
)
def only_the_target_is_looked_at(source_text: str, target_text: str) -> Pairs:
    return [pair for pair in _stripped(source_text, target_text) if pair[1]]


@item.misconception(
    "Reading ends at the first blank line.",
    why="All pairs after it are lost, and nobody notices how many there were.",
    hint="One pair has to be left out. What happens to the next one in your code?",
)
def ends_at_the_first_blank(source_text: str, target_text: str) -> Pairs:
    pairs = _stripped(source_text, target_text)
    first = next((i for i, pair in enumerate(pairs) if not all(pair)), len(pairs))
    return pairs[:first]
