"""Items of lesson 10: a loss, a step, and what a loss is worth."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn, optim
from torch.nn import functional as F

from course_lib import training
from course_lib.checks.call import Call
from course_lib.checks.draw import Draw
from course_lib.checks.item import Bug, Item, Probe
from course_lib.data import Batch, teacher_forcing

# --- 10.masked_cross_entropy ---------------------------------------------------------------------


def _logits_and_labels(draw: Draw) -> list[Call]:
    return [
        Call(
            (draw.normal(3, 5, 7, spread=2), draw.tokens(3, 5, high=6), 0),
            about="three sentences, padded on the right",
        ),
        Call(
            (draw.normal(2, 4, 6, spread=2), draw.ids(2, 4, high=5), 0), about="nothing is padded"
        ),
        Call(
            (draw.normal(5, 5, 5, spread=2), draw.tokens(5, 5, high=4), 0),
            about="as many sentences as places as words",
        ),
    ]


def _long_and_short(draw: Draw) -> list[Call]:
    labels = draw.ids(2, 8, high=5)
    labels[1, 1:] = 0
    return [
        Call((draw.normal(2, 8, 6, spread=3), labels, 0), about="eight real tokens, and one"),
        Call((draw.normal(1, 8, 6, spread=3), labels[1:], 0), about="one real token in all"),
    ]


masked_cross_entropy = Item(
    "10.masked_cross_entropy",
    reference=training.masked_cross_entropy,
    probes=[
        Probe("it is the mean of −ln p over the real tokens", _logits_and_labels),
        Probe("each real token counts alike, in long and short sentences", _long_and_short),
        Probe(
            "it is pad_id that says what a pad is",
            lambda draw: [
                Call(
                    (draw.normal(3, 4, 8), draw.tokens(3, 4, pad_id=3, high=7), 3),
                    about="pad_id is 3, and 0 is a word",
                ),
                Call(
                    (draw.normal(2, 6, 8), draw.tokens(2, 6, pad_id=1, left=True, high=7), 1),
                    about="pads on the left, pad_id 1",
                ),
            ],
        ),
        Probe(
            "large logits stay finite, and float64 stays float64",
            lambda draw: [
                Call(
                    (draw.normal(2, 4, 6, spread=300), draw.tokens(2, 4, high=5), 0),
                    about="logits in the hundreds",
                ),
                Call(
                    (draw.normal(2, 3, 6, dtype=torch.float64), draw.tokens(2, 3, high=5), 0),
                    about="float64",
                ),
            ],
        ),
        Probe(
            "a batch of pads alone has loss 0",
            lambda draw: [
                Call((draw.normal(2, 3, 6), torch.zeros(2, 3).long(), 0), about="nothing but pads")
            ],
        ),
        Probe(
            "labels may be a slice, and logits a transpose",
            lambda draw: [
                Call(
                    (draw.strided(3, 4, 6), draw.tokens(3, 5, high=5)[:, 1:], 0),
                    about="labels are target[:, 1:]",
                )
            ],
        ),
        Probe(
            "a gradient comes back, and none of it at the pads",
            lambda draw: [
                Call(call.args, about=call.about, gradients=True)
                for call in _logits_and_labels(draw)[:2]
            ],
        ),
    ],
    tolerance=1e-4,
    hints=(
        "Two questions, one after the other: what does each place cost, and which places count?",
        "log_softmax over the words gives ln p of every word; pick the label's at each place, "
        "(B, T). Sum what stands at real labels, and divide by how many there are.",
        "-logits.log_softmax(dim=-1).gather(-1, labels[..., None])[..., 0] is the cost of each "
        "place. Times a mask, summed, and divided by a count that clamp(min=1) keeps from 0.",
    ),
)


def _costs(logits: Tensor, labels: Tensor) -> Tensor:
    """What each place costs in nats, (B, T)."""
    return -logits.log_softmax(dim=-1).gather(-1, labels[..., None])[..., 0]


@masked_cross_entropy.mistake(
    "Your mean counts the pads as if they were words.",
    why="The model is then trained to say filling, and the loss depends on how much there is.",
    hint="How many places did you sum over, and at how many is there something to say?",
)
def pads_counted(logits: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    return _costs(logits, labels).mean()


@masked_cross_entropy.mistake(
    "You leave out what the pads cost, but still divide by all places.",
    why="The more padding, the smaller your loss: a batch of short sentences looks easy.",
    hint="By what do you divide?",
)
def divided_by_all_places(logits: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    return (_costs(logits, labels) * (labels != pad_id)).mean()


@masked_cross_entropy.mistake(
    "You take the mean of each sentence, and then the mean of these.",
    why="A word of a short sentence would count more than one of a long sentence. The loss is a "
    "mean over tokens.",
    hint="With one sentence of eight words and one of one: how many numbers do you average?",
)
def mean_of_sentence_means(logits: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    real = labels != pad_id
    rows = (_costs(logits, labels) * real).sum(1) / real.sum(1).clamp(min=1)
    return rows.mean()


@masked_cross_entropy.mistake(
    "You sum over the real tokens and do not divide.",
    why="A sum grows with the batch, and with it the step: your learning rate would mean another "
    "thing for each batch.",
    hint="The unit is nats *per token*.",
)
def a_sum(logits: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    return (_costs(logits, labels) * (labels != pad_id)).sum()


@masked_cross_entropy.mistake(
    "A batch of pads alone gives NaN.",
    why="The mean of no numbers is 0 / 0. In a long training one such batch is enough: its NaN "
    "goes into every weight.",
    hint="What do you divide by when there is no real token?",
)
def nan_for_pads_alone(logits: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_id)


@masked_cross_entropy.mistake(
    "You always take 0 for the pad, whatever pad_id is.",
    why="Where another id is the pad, a real word is left out and the pads are learnt.",
    hint="Does your code use its third argument?",
)
def zero_is_always_the_pad(logits: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    return training.masked_cross_entropy(logits, labels, 0)


@masked_cross_entropy.mistake(
    "Softmax is applied twice.",
    why="F.cross_entropy wants logits and does the softmax itself. Of probabilities it makes "
    "nearly even ones: the loss can never come close to zero.",
    hint="What does the loss that you call expect: logits, probabilities or their logarithms?",
)
def softmax_twice(logits: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    return training.masked_cross_entropy(logits.softmax(dim=-1), labels, pad_id)


@masked_cross_entropy.mistake(
    "With large logits your loss is infinite.",
    why="Softmax rounds a small probability to 0, and ln 0 is minus infinity. Taken together, "
    "logarithm and softmax never need that small number.",
    hint="There is a function that does both in one.",
)
def logarithm_of_softmax(logits: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    real = labels != pad_id
    p = logits.softmax(dim=-1).gather(-1, labels[..., None])[..., 0]
    return -p.log().masked_fill(~real, 0.0).sum() / real.sum().clamp(min=1)


@masked_cross_entropy.mistake(
    "Your loss has the wrong sign: it falls when the model gets worse.",
    why="ln p of a probability is negative. Training goes downhill, so it would unlearn.",
    hint="What is ln 0.5? And what shall the loss be for p = 0.5?",
)
def wrong_sign(logits: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    return -training.masked_cross_entropy(logits, labels, pad_id)


@masked_cross_entropy.mistake(
    "Your loss is in bits: it comes from log2.",
    why="The course measures in nats; ln V and the floor are nats, too. In bits the same loss is "
    "1 / ln 2 = 1.44 times the number.",
    hint="Which logarithm has e as its base?",
)
def in_bits(logits: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    return training.masked_cross_entropy(logits, labels, pad_id) / math.log(2)


@masked_cross_entropy.mistake(
    "Your softmax runs over the places, not over the words.",
    why="At each place the probabilities of all words have to sum to one.",
    hint="Which axis of (B, T, V) are the words?",
)
def softmax_over_the_places(logits: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    real = labels != pad_id
    costs = -logits.log_softmax(dim=1).gather(-1, labels[..., None])[..., 0]
    return (costs * real).sum() / real.sum().clamp(min=1)


@masked_cross_entropy.mistake(
    "F.cross_entropy takes your places for words: it wants the words on axis 1.",
    why="With (B, T, V) it fails, or, when there are as many places as words, gives another loss "
    "in silence.",
    hint="Make two axes of three, or move the words to axis 1.",
)
def words_on_the_wrong_axis(logits: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    return F.cross_entropy(logits, labels, ignore_index=pad_id)


@masked_cross_entropy.mistake(
    "Your code fails where labels are a slice, as target[:, 1:] is.",
    why="`view` needs contiguous memory, and a slice has gaps (lesson 09).",
    hint="Which two functions do the same and copy if they must?",
)
def view_of_a_slice(logits: Tensor, labels: Tensor, pad_id: int) -> Tensor:
    return training.masked_cross_entropy(logits.flatten(0, 1)[None], labels.view(1, -1), pad_id)


@masked_cross_entropy.mistake(
    "Your loss is cut off from the logits: no gradient can flow back from it.",
    why="backward() walks back through the tensors that made the loss. A plain number, or a "
    "detached tensor, has forgotten them.",
    hint="Where do you leave the graph, with item(), float(), detach() or no_grad()?",
)
def cut_off_from_the_logits(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    return training.masked_cross_entropy(logits, labels, pad_id).item()


# --- 10.train_step -------------------------------------------------------------------------------


class _Toy(nn.Module):
    """Stands in for a Transformer, in a thousandth of its time: reads a source and a word."""

    device = torch.device("cpu")

    def __init__(self, source_vocab: int, target_vocab: int, width: int) -> None:
        super().__init__()
        self.source_words = nn.Embedding(source_vocab, width)
        self.target_words = nn.Embedding(target_vocab, width)
        self.output = nn.Linear(width, target_vocab)
        self.modes: list[bool] = []

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Source (B, S) and what is read of the target (B, T) to logits (B, T, V)."""
        self.modes.append(self.training)
        nearness = 1 / torch.arange(1.0, source.size(1) + 1)  # so that the words' order matters
        memory = (self.source_words(source) * nearness[:, None]).mean(dim=1, keepdim=True)
        logits: Tensor = self.output(torch.tanh(memory + self.target_words(target)))
        return logits


SIZES = (12, 10, 6)  # of the stand-in: words of the source, words of the target, width


def _toy(weights: Mapping[str, Tensor]) -> _Toy:
    toy = _Toy(*SIZES)
    toy.load_state_dict(dict(weights))
    return toy


def _use_train_step(
    train_step: Callable[..., Any],
    weights: Mapping[str, Tensor],
    batches: Sequence[tuple[Tensor, Tensor]],
    pad_id: int,
    *,
    adam: bool = False,
    measured_before: bool = False,
) -> Any:
    """Take a step for each batch; what was returned, and where the weights are then."""
    model = _toy(weights).train()
    optimizer: optim.Optimizer = optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    if adam:
        optimizer = optim.Adam(model.parameters(), lr=0.05)
    if measured_before:  # somebody has left gradients behind
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
    losses = [train_step(model, Batch(*batch), optimizer, pad_id) for batch in batches]
    return {
        "losses": losses,
        "type of a loss": "float" if isinstance(losses[0], float) else type(losses[0]).__name__,
        "model in training mode": bool(model.modes) and all(model.modes),
        "weights": {name: p.detach() for name, p in model.named_parameters()},
    }


def _batch(draw: Draw, *lengths: int, pad_id: int = 0) -> tuple[Tensor, Tensor]:
    """Sources and targets with so many words; <sos> is 1 and <eos> 2."""
    longest = max(lengths)
    source = draw.ids(len(lengths), longest, low=4, high=11)
    target = torch.full((len(lengths), longest + 2), pad_id)
    for row, length in enumerate(lengths):
        source[row, length:] = pad_id
        words = draw.ids(length, low=4, high=9).tolist()
        target[row, : length + 2] = torch.tensor([1, *words, 2])
    return source, target


def _steps(
    draw: Draw, *batches: tuple[int, ...], about: str, pad_id: int = 0, **kwargs: Any
) -> Call:
    made = [_batch(draw, *lengths, pad_id=pad_id) for lengths in batches]
    return Call((draw.weights(_Toy(*SIZES)), made, pad_id), kwargs, about=about)


def _train_step(model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int) -> float:
    loss = _loss(model, batch, pad_id)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def _loss(model: nn.Module, batch: Batch, pad_id: int) -> Tensor:
    decoder_input, labels = teacher_forcing(batch.target, pad_id)
    return training.masked_cross_entropy(model(batch.source, decoder_input), labels, pad_id)


train_step = Item(
    "10.train_step",
    reference=_train_step,
    use=_use_train_step,
    probes=[
        Probe(
            "one step: the loss before it, and the weights after it",
            lambda draw: [_steps(draw, (3, 5, 2), about="one batch, padded on the right")],
        ),
        Probe(
            "several steps: each has gradients of its own",
            lambda draw: [_steps(draw, (4, 2), (3, 3, 1), (2, 5), about="three batches in turn")],
        ),
        Probe(
            "gradients from before do not count",
            lambda draw: [
                _steps(
                    draw,
                    (3, 4),
                    (2, 2),
                    about="somebody has left gradients behind",
                    measured_before=True,
                )
            ],
        ),
        Probe(
            "it is the optimiser that steps",
            lambda draw: [_steps(draw, (3, 4), (5, 2), about="the optimiser is Adam", adam=True)],
        ),
        Probe(
            "it is pad_id that says what a pad is; one sentence is a batch",
            lambda draw: [
                _steps(draw, (1, 4), (3, 2), about="pad_id is 3", pad_id=3),
                _steps(draw, (3,), about="a batch of one, no pads"),
            ],
        ),
    ],
    tolerance=1e-4,
    hints=(
        "Five things happen, and the order matters. Say them aloud before you write them.",
        "Shift the target; predict and measure; clear old gradients; go back; step. What is given "
        "back was measured before the step.",
        "decoder_input, labels = …; loss = masked_cross_entropy(model(…), …); then "
        "optimizer.zero_grad(), loss.backward(), optimizer.step(), and item() makes a number of "
        "a tensor.",
    ),
)


@train_step.mistake(
    "Old gradients are never cleared: each step adds its own to all that were before.",
    why="backward() adds to what is there. Soon the sum of the past is larger than what this batch "
    "has to say.",
    hint="What does backward() do with a gradient that is already there?",
)
def never_clears(model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int) -> float:
    loss = _loss(model, batch, pad_id)
    loss.backward()
    optimizer.step()
    return loss.item()


@train_step.mistake(
    "Gradients are cleared after the step only: what somebody left before it is counted.",
    why="Whoever measured a gradient before your first step has left it there, and your step "
    "follows it, too.",
    hint="At which moment must the gradients be empty for certain?",
)
def clears_too_late(
    model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int
) -> float:
    loss = _loss(model, batch, pad_id)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


@train_step.mistake(
    "The weights have not moved.",
    why="A step needs gradients: backward() makes them, zero_grad() throws them away, and step() "
    "follows them. One of the three is missing, or stands in the wrong place.",
    hint="In which order do you call the three?",
)
def nothing_moves(model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int) -> float:
    loss = _loss(model, batch, pad_id)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.item()


@train_step.mistake(
    "Your labels are what the decoder reads: nothing is shifted.",
    why="Saying the word that it reads is the easiest task there is. The loss goes to zero, and "
    "the model cannot translate.",
    hint="Which two slices of the target does a step need?",
)
def no_shift(model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int) -> float:
    shifted = Batch(batch.source, batch.target[:, :-1])
    logits = model(*shifted)
    return _step_on(training.masked_cross_entropy(logits, shifted.target, pad_id), optimizer)


def _step_on(loss: Tensor, optimizer: optim.Optimizer) -> float:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


@train_step.mistake(
    "The shift goes the wrong way: the decoder reads the answers and says what came before.",
    why="It learns to name the word before the one it reads. When it is used, there is nothing to "
    "read yet but `<sos>`.",
    hint="Which of the two slices begins with `<sos>`?",
)
def shifted_backwards(
    model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int
) -> float:
    logits = model(batch.source, batch.target[:, 1:])
    loss = training.masked_cross_entropy(logits, batch.target[:, :-1], pad_id)
    return _step_on(loss, optimizer)


@train_step.mistake(
    "You give back the loss after the step.",
    why="It costs a second pass through the model, and the first point of the curve, ln V, is "
    "never seen.",
    hint="How often do you call the model in one step?",
)
def loss_after_the_step(
    model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int
) -> float:
    _train_step(model, batch, optimizer, pad_id)
    return _loss(model, batch, pad_id).item()


@train_step.mistake(
    "Your loss counts the pads.",
    why="Each step then also teaches the model to say filling.",
    hint="Who tells your loss what a pad is?",
)
def pads_counted_in_the_step(
    model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int
) -> float:
    logits = model(batch.source, batch.target[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), batch.target[:, 1:].flatten())
    return _step_on(loss, optimizer)


@train_step.mistake(
    "You give back a tensor, not a number.",
    why="It keeps all that it was made of: a list of such losses keeps the graph of every step "
    "alive, and memory runs full.",
    hint="What makes a plain number of a tensor with one element?",
)
def gives_back_a_tensor(
    model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int
) -> Tensor:
    loss = _loss(model, batch, pad_id)
    _step_on(loss, optimizer)
    return loss


@train_step.mistake(
    "The model is not in training mode while it learns.",
    why="eval() switches dropout off, which is there to make learning by heart harder. eval() is "
    "for measuring and translating.",
    hint="Which line of yours changes the mode of the model?",
)
def learns_in_eval_mode(
    model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int
) -> float:
    return _train_step(model.eval(), batch, optimizer, pad_id)


@train_step.mistake(
    "You follow the sum of the losses, not their mean.",
    why="A batch with more words then makes a larger step, and the learning rate means another "
    "thing each time.",
    hint="Is the number that you give back the one that backward() started from?",
)
def follows_the_sum(
    model: nn.Module, batch: Batch, optimizer: optim.Optimizer, pad_id: int
) -> float:
    loss = _loss(model, batch, pad_id)
    tokens = (batch.target[:, 1:] != pad_id).sum()
    return _step_on(loss * tokens, optimizer) / tokens.item()


# --- 10.source_blind_floor -----------------------------------------------------------------------


class WordPair(NamedTuple):
    """A sentence and its translation, word by word."""

    source: list[str]
    target: list[str]


Pairs = Sequence[WordPair]
END = "<eos>"


def _use_floor(floor: Callable[..., Any], pairs: Sequence[tuple[list[str], list[str]]]) -> Any:
    return floor([WordPair(*pair) for pair in pairs])


def _floor(pairs: Pairs) -> float:
    return training.source_blind_floor([pair.target for pair in pairs])


def _said(*lines: str) -> list[tuple[list[str], list[str]]]:
    """Pairs from lines such as "ich bin: i am"."""
    sides = (line.split(":") for line in lines)
    return [(source.split(), target.split()) for source, target in sides]


BAR = ("ich mochte ein bier: i want a beer .", "ich mochte ein cola: i want a coke .")


def _babble(draw: Draw, count: int, *, words: str = "abc") -> list[tuple[list[str], list[str]]]:
    """Pairs of one to five words from a tiny language, so that beginnings meet again."""

    def sentence() -> list[str]:
        return [words[i] for i in draw.ids(draw.integer(1, 5), low=0, high=len(words) - 1)]

    return [(sentence(), sentence()) for _ in range(count)]


source_blind_floor = Item(
    "10.source_blind_floor",
    reference=_floor,
    use=_use_floor,
    probes=[
        Probe(
            "where the source decides nothing, the floor is 0",
            lambda draw: [
                Call((_said("ich bin es: it is me"),), about="one sentence"),
                Call(
                    (_said("ich bin es: it is me", "das bin ich: it is me"),),
                    about="two sources, one translation",
                ),
            ],
        ),
        Probe(
            "beer or coke is worth 2 · ln 2 / 12",
            lambda draw: [Call((_said(*BAR),), about="the lesson's two sentences")],
        ),
        Probe(
            "what is said more often is less of a surprise",
            lambda draw: [
                Call((_said(*BAR, BAR[0], BAR[0]),), about="three beers, one coke"),
                Call(
                    (_said("ja: yes", "ja: yes", "ja: oh yes", "ja: well", "doch: yes"),),
                    about="one source, several translations",
                ),
            ],
        ),
        Probe(
            "the end of a sentence is to be said, too",
            lambda draw: [
                Call(
                    (_said("ich will: i want", "ich will bier: i want beer", "ich: i"),),
                    about="one target is the beginning of another",
                )
            ],
        ),
        Probe(
            "the whole beginning counts, word by word",
            lambda draw: [
                Call(
                    (_said("a: he can see", "b: she can hear", "c: he can hear"),),
                    about="the same word after two beginnings",
                ),
                Call(
                    (_said("a: ab c d", "b: a bc e", "c: ab c f"),),
                    about="ab c and a bc have the same letters",
                ),
            ],
        ),
        Probe(
            "it holds for any sentences",
            lambda draw: [
                Call((_babble(draw, 15),), about="15 sentences of three words, over and over"),
                Call((_babble(draw, 40, words="xy"),), about="40 sentences of two words"),
            ],
        ),
    ],
    hints=(
        "Cover the source. You know all targets by heart, and what you have read of one so far. "
        "What do you bet on the next word?",
        "Collect for each beginning (all words so far) what came next each time, the end included. "
        "A word that came n_w times out of n has the best probability n_w / n.",
        "following[tuple(words[:place])].append(words[place]) for words = [*target, '<eos>']. Then "
        "each entry costs -log(its count / length of its list); divide by the number of entries.",
    ),
)

Key = Callable[[WordPair, list[str], int], Hashable]


def _beginning(pair: WordPair, words: list[str], place: int) -> Hashable:
    return tuple(words[:place])


def _events(pairs: Pairs, key: Key = _beginning) -> list[tuple[Hashable, str]]:
    """What was known, and the word that came, for each label."""
    events = []
    for pair in pairs:
        words = [*pair.target, END]
        events += [(key(pair, words, place), word) for place, word in enumerate(words)]
    return events


def _mean_surprise(events: Sequence[tuple[Hashable, str]]) -> float:
    known, both = Counter(key for key, _ in events), Counter(events)
    return sum(math.log(known[event[0]] / both[event]) for event in events) / len(events)


@source_blind_floor.mistake(
    "Your model knows only the word before, not the whole beginning.",
    why="A blind model has read its own words so far, all of them. Whoever knows more can do "
    "better: your floor is too high.",
    hint="What has the decoder read when it is asked for the fourth word?",
)
def only_the_word_before(pairs: Pairs) -> float:
    return _mean_surprise(_events(pairs, lambda pair, words, place: tuple(words[:place][-1:])))


@source_blind_floor.mistake(
    "Your model knows how frequent each word is, and nothing of what was said before.",
    why="It is blind for the source, not for its own words: it may read the beginning.",
    hint="Of which words do you count how often they came: of all, or of those after a beginning?",
)
def frequencies_alone(pairs: Pairs) -> float:
    return _mean_surprise(_events(pairs, lambda pair, words, place: None))


@source_blind_floor.mistake(
    "Your model knows at which place a word stands, and not what was said before.",
    why="After 'he can' other words follow than after 'she can'. A model that reads its beginning "
    "can tell them apart.",
    hint="What is it that two sentences must share for a blind model to be in doubt?",
)
def only_the_place(pairs: Pairs) -> float:
    return _mean_surprise(_events(pairs, lambda pair, words, place: place))


@source_blind_floor.mistake(
    "Your model has read the source.",
    why="That is the floor of a model that translates: 0, where each source has one translation. "
    "A blind model may not use it.",
    hint="Which half of a pair is covered?",
)
def reads_the_source(pairs: Pairs) -> float:
    return _mean_surprise(
        _events(pairs, lambda pair, words, place: (*pair.source, ":", *words[:place]))
    )


@source_blind_floor.mistake(
    "Your sentences have no end.",
    why="The end is a label like any other, and may be the one in doubt: 'i want' can stop there "
    "or go on.",
    hint="How many labels does a target of five words have?",
)
def no_end(pairs: Pairs) -> float:
    return _mean_surprise([event for event in _events(pairs) if event[1] != END])


@source_blind_floor.mistake(
    "You divide by the number of sentences.",
    why="The loss that it is compared with is a mean over tokens.",
    hint="How many labels do the two sentences of the lesson have?",
)
def per_sentence(pairs: Pairs) -> float:
    events = _events(pairs)
    return _mean_surprise(events) * len(events) / len(pairs)


@source_blind_floor.mistake(
    "You sum the nats and do not divide.",
    why="The loss that it is compared with is a mean over tokens.",
    hint="How many labels do the two sentences of the lesson have?",
)
def not_divided(pairs: Pairs) -> float:
    events = _events(pairs)
    return _mean_surprise(events) * len(events)


@source_blind_floor.mistake(
    "Your floor is in bits: it comes from log2.",
    why="The loss is in nats. ln 2 nats are one bit.",
    hint="Which logarithm has e as its base?",
)
def floor_in_bits(pairs: Pairs) -> float:
    return _floor(pairs) / math.log(2)


@source_blind_floor.mistake(
    "You count each different target once, however often it is said.",
    why="Where three guests of four order a beer, 'beer' is the better bet, and pays.",
    hint="What happens to a sentence that comes twice?",
)
def each_target_once(pairs: Pairs) -> float:
    return _floor(list({tuple(pair.target): pair for pair in pairs}.values()))


@source_blind_floor.mistake(
    "You give the same probability to all words that ever followed a beginning.",
    why="A blind model knows how often each of them came, and bets accordingly: the floor lies "
    "lower.",
    hint="Three beers and one coke: what is the best bet?",
)
def even_shares(pairs: Pairs) -> float:
    events = _events(pairs)
    kinds = Counter(key for key, _ in set(events))
    return sum(math.log(kinds[key]) for key, _ in events) / len(events)


@source_blind_floor.mistake(
    "You take the mean over beginnings, as if all came equally often.",
    why="A beginning that stands in every sentence is met more often, and so is its doubt.",
    hint="How often is 'i want a' met, and how often 'i want a beer'?",
)
def mean_over_beginnings(pairs: Pairs) -> float:
    events = _events(pairs)
    known, both = Counter(key for key, _ in events), Counter(events)
    nats = sum(math.log(known[key] / both[key, word]) / known[key] for key, word in events)
    return nats / len(known)


# --- 10.bug --------------------------------------------------------------------------------------

BUG = """\
def wrong_source_gap(model, source, target, pad_id):
    decoder_input, labels = target[:, :-1], target[:, 1:]
    wrong = source.roll(1, dims=1)
    losses = []
    for given in (source, wrong):
        with torch.no_grad():
            logits = model(given, decoder_input).flatten(0, 1)
        loss = F.cross_entropy(logits, labels.flatten(), ignore_index=pad_id)
        losses.append(loss.item())
    return losses[1] - losses[0]
"""

Give = Callable[[Tensor], Tensor]


def _use_gap(
    gap: Callable[..., Any],
    weights: Mapping[str, Tensor],
    source: Tensor,
    target: Tensor,
    pad_id: int,
) -> Any:
    return gap(_toy(weights).eval(), source, target, pad_id)


def _gap(model: nn.Module, source: Tensor, target: Tensor, pad_id: int, give: Give) -> float:
    """What the loss gains when each sentence is given a source by ``give``."""
    with torch.no_grad():
        right, wrong = (_loss(model, Batch(s, target), pad_id) for s in (source, give(source)))
    return (wrong - right).item()


def _neighbours(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: s.roll(1, dims=0))


def _measure(draw: Draw, *lengths: int, about: str, pad_id: int = 0) -> Call:
    source, target = _batch(draw, *lengths, pad_id=pad_id)
    return Call((draw.weights(_Toy(*SIZES), spread=1.5), source, target, pad_id), about=about)


bug = Item(
    "10.bug",
    reference=_neighbours,
    use=_use_gap,
    bug=Bug(BUG, line=3),
    tolerance=1e-4,
    probes=[
        Probe(
            "two sentences exchange their sources",
            lambda draw: [_measure(draw, 4, 4, about="two sentences of four words")],
        ),
        Probe(
            "of three or more, none keeps its own",
            lambda draw: [
                _measure(draw, 4, 4, 4, about="three sentences"),
                _measure(draw, 3, 5, 2, 4, 1, about="five, padded"),
            ],
        ),
        Probe(
            "any pad_id, any length",
            lambda draw: [
                _measure(draw, 1, 1, 1, 1, about="sources of one word"),
                _measure(draw, 2, 6, 3, about="pad_id is 3", pad_id=3),
            ],
        ),
    ],
    hints=(
        "Two sentences of four words, ids 1 2 3 4 and 5 6 7 8: write down what each is given.",
        "A model that has learnt no word order, as the lesson's, gives nearly no gap here. Is it "
        "blind, or was it asked the wrong question?",
        "roll moves along an axis. Which axis of (B, S) counts the sentences?",
    ),
)


@bug.mistake(
    "Each sentence still keeps its own words, in another order.",
    why="The lesson's model weighs words and does not mind their order. Its gap would be close "
    "to zero, and you would call a model blind that reads.",
    hint="Write down the ids of two sources, and next to them what is read instead.",
)
def still_its_own_words(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: s.roll(1, dims=1))


@bug.mistake(
    "Each sentence still keeps its own words: they run backwards.",
    why="It is the right source, read from its end. A model without word order does not notice.",
    hint="You look for the source of *another* sentence.",
)
def backwards(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: s.flip(1))


@bug.mistake(
    "The sources move by one word, over the ends of the sentences.",
    why="Without dims, roll takes the tensor for one long row: each sentence gets one word of its "
    "neighbour and keeps all others.",
    hint="How many words of its neighbour does each sentence get?",
)
def one_word_over(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: s.roll(1))


@bug.mistake(
    "In a batch of three, the sentence in the middle keeps its own source.",
    why="Turning the batch round exchanges first and last; in an odd batch the middle stays, and "
    "makes the gap smaller than it is.",
    hint="It is right for two sentences. Try three.",
)
def batch_turned_round(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: s.flip(0))


@bug.mistake(
    "Each sentence gets the source of the one after it.",
    why="It is a wrong source, too, but another one than was asked for, and a number that cannot "
    "be compared.",
    hint="Where does the first source go, down or up?",
)
def the_one_after_it(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: s.roll(-1, dims=0))


@bug.mistake(
    "You give it pads, which are no source at all.",
    why="An empty source says nothing; a wrong one speaks *against* the label. Only the second "
    "shows that the model listens.",
    hint="Whose source is each sentence to be given?",
)
def no_source_at_all(model: nn.Module, source: Tensor, target: Tensor, pad_id: int) -> float:
    return _gap(model, source, target, pad_id, lambda s: torch.full_like(s, pad_id))
