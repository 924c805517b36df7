"""What the translator's page says of each of the course's models, and offers to translate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Text = tuple[str, str]  # a German text and an English translation


@dataclass(frozen=True, kw_only=True)
class ModelTexts:
    """One model's part of the page.

    Args:
        asked: above the field for the German text.
        lead: what the model can do, as HTML.
        token: what a token of it is.
        other: the model whose page is named here, and what it is good for.
        bits: in which the page stores a number of its matrices.
        examples: for buttons.
        sentences: another button picks one of them.
        title: of the page.
    """

    asked: str
    lead: str
    token: str
    other: tuple[str, str]
    bits: int
    examples: Sequence[Text]
    sentences: Sequence[Text] = ()
    title: str = "A Transformer inside a page"


# Several sentences, a question, a separable verb, a caption, a rare word, what is no German.
_EVERYDAY = (
    ("Ich habe keine Zeit!", "I have no time!"),
    ("Mein Bruder wohnt nebenan. Kennst du ihn?", "My brother lives next door. Do you know him?"),
    ("Ein Mann mit einem roten Hut spielt Gitarre.", "A man in a red hat is playing the guitar."),
    ("Ich stehe jeden Morgen um 6 Uhr auf.", "I get up at 6 every morning."),
    ("Das Eichhörnchen schläft.", "The squirrel is sleeping."),
    ("Warum lachst du", "Why are you laughing?"),
    ("Guten Morgen! 😀 How are you? Es geht mir gut.", "Good morning! I am fine."),
)
_EVERYDAY_SENTENCES = (
    ("Ich bin müde.", "I am tired."),
    ("Wo ist mein Schlüssel?", "Where is my key?"),
    ("Komm bitte herein!", "Please come in!"),
    ("Sie liest gern Bücher.", "She likes reading books."),
    ("Kannst du mir helfen?", "Can you help me?"),
    ("Das Wasser ist zu kalt.", "The water is too cold."),
    ("Wir haben kein Brot mehr.", "We have no more bread."),
    ("Er kommt heute nicht.", "He isn't coming today."),
    ("Mach die Tür zu!", "Close the door!"),
    ("Was hast du gesagt?", "What did you say?"),
    ("Ich habe meinen Schirm vergessen.", "I forgot my umbrella."),
    ("Meine Schwester spielt Klavier.", "My sister plays the piano."),
    ("Der Zug ist schon weg.", "The train has already left."),
    ("Wie alt ist dein Hund?", "How old is your dog?"),
    ("Es regnet seit gestern.", "It has been raining since yesterday."),
    ("Ich weiß es nicht.", "I don't know."),
    ("Niemand hat uns gesehen.", "Nobody saw us."),
    ("Das hat mir gefallen.", "I liked that."),
    ("Ruf mich morgen an!", "Call me tomorrow!"),
    ("Wir sind zu spät gekommen.", "We came too late."),
    ("Hast du Hunger?", "Are you hungry?"),
    ("Sie trägt einen roten Mantel.", "She is wearing a red coat."),
    ("Ich glaube dir.", "I believe you."),
    ("Das Kind hat Angst vor dem Hund.", "The child is afraid of the dog."),
    ("Wer hat das gemacht?", "Who did that?"),
    ("Nimm dir Zeit!", "Take your time!"),
    ("Er hat sein Auto verkauft.", "He sold his car."),
    ("Ich muss jetzt gehen.", "I have to go now."),
    ("Die Suppe schmeckt gut.", "The soup tastes good."),
    ("Warum bist du hier?", "Why are you here?"),
    ("Zwei Kinder spielen im Schnee.", "Two children are playing in the snow."),
    ("Ein Hund springt über einen Zaun.", "A dog is jumping over a fence."),
    ("Eine Frau fährt mit dem Fahrrad.", "A woman is riding a bicycle."),
    ("Ein Mädchen isst ein Eis.", "A girl is eating ice cream."),
    ("Zwei Männer sitzen auf einer Bank.", "Two men are sitting on a bench."),
    ("Viele Menschen warten auf den Bus.", "Many people are waiting for the bus."),
)

# Word order, a separable verb, two meanings of a word, and a word that the grammar does not have.
_SMALL = (
    ("Der alte Hund sieht die Katze.", "the old dog sees the cat."),
    (
        "Dem freundlichen Studenten kann Paul einen Hammer zeigen.",
        "paul can show a hammer to the friendly student.",
    ),
    ("Jeden Tag steht Lena auf.", "every day lena gets up."),
    ("Ich bleibe am Montag auf der grünen Bank.", "i stay on the green bench on monday."),
    ("Wir sind in diese Bank gelaufen.", "we ran into this bank."),
    ("Die Birne kann leuchten, wenn sie kaputt ist.", "the bulb can shine when it is broken."),
    ("Das Eichhörnchen schläft.", "the squirrel sleeps."),
)

TEXTS = {
    "everyday": ModelTexts(
        asked="German text",
        lead="It reads plain German, best in sentences of up to six words: longer ones lose their "
        "way, and so do rare names. It learnt from examples alone, in half an hour on two cores, "
        "and underlines what it is unsure of.",
        token="a word with the space before it (▁) or, of a rare word, a part",
        other=("small", "knows the right answer to everything it says"),
        bits=8,
        examples=_EVERYDAY,
        sentences=_EVERYDAY_SENTENCES,
    ),
    "small": ModelTexts(
        asked="A German sentence",
        lead="It knows {known} German words and marks, and the sentences of the course’s own "
        "grammar, short and tidy ones, of each of which the right translation is known. It was "
        "made to be looked into, not to be relied on.",
        token="a word or a mark",
        other=("everyday", "reads short sentences of plain German"),
        bits=16,
        examples=_SMALL,
    ),
    "mine": ModelTexts(
        asked="A German sentence",
        lead="Whoever sent you this page has written a Transformer, part by part, and trained it: "
        "these are its weights. It knows {known} German words and marks, and the sentences of a "
        "small grammar, of each of which the right translation is known.",
        token="a word or a mark",
        other=("everyday", "reads short sentences of plain German"),
        bits=16,
        examples=_SMALL,
        title="A Transformer of one’s own",
    ),
}
