"""Pairs with other names and numbers, so that a model learns to copy them.

*Tom* stands in 23 % of the pairs (of 47,607 that were counted), and no other name in 1 %: a model
that has read only those writes *Tom* for any name.
"""

from __future__ import annotations

import random
import re

from course_lib.data.pairs import TextPair

# The same in both languages, and none ends in a sound after which German writes no s (Max' Auto).
MEN = """
Adam Albert Alexander Ali Anton Arthur Ben Bernd Bob Carl Christian Daniel David Dieter Dominik
Edgar Emil Erik Fabian Florian Frank Fred Georg Gustav Hakan Heiko Henry Hugo Ibrahim Ivan Jakob
Jan Jim Joachim Johann John Jonathan Jörg Julian Jürgen Karl Kevin Kurt Leo Leon Linus Luca Ludwig
Manfred Marco Mario Martin Matteo Mehmet Michael Mike Mohammed Noah Oliver Omar Oskar Otto Patrick
Paul Peter Philipp Ralf René Richard Robert Roman Samuel Sebastian Simon Stefan Sven Theo Tim Tom
Umut Uwe Viktor Walter Werner Willi Wolfgang Yusuf
""".split()
WOMEN = """
Alice Amina Andrea Angela Anja Anke Anna Antonia Astrid Aylin Barbara Bianca Birgit Carla Charlotte
Christina Clara Claudia Daniela Diana Elena Elif Elisabeth Ella Emily Emma Eva Fatima Franziska
Greta Hanna Heike Helena Hilde Ida Ines Ingrid Irina Jana Jasmin Johanna Julia Karin Karla Katja
Kim Klara Lara Laura Lea Lena Leonie Lili Lina Linda Lisa Lotte Luisa Manuela Maria Marie Marlene
Martha Mia Michelle Mila Miriam Monika Nadja Natalie Nele Nicole Nina Nora Olga Paula Petra Rosa
Sabine Sandra Sara Silke Sofia Sonja Stefanie Susanne Svenja Tanja Tina Ulrike Ursula Vera Yasemin
""".split()
CITIES = """
Amsterdam Augsburg Berlin Bochum Bonn Boston Bremen Chicago Dortmund Dresden Düsseldorf Erfurt
Frankfurt Hamburg Heidelberg Kiel Leipzig London Madrid Mainz Oslo Oxford Potsdam Rostock
Stuttgart Sydney Ulm Weimar Zwickau
""".split()
# Their genitives have no s of their own, so they stand for no name in the genitive.
MEN_IN_S = """
Andreas Felix Hans Jonas Klaus Lukas Markus Matthias Max Moritz Niklas Thomas Tobias
""".split()
TRANSLATED_CITIES = tuple(
    TextPair(*city.split("="))
    for city in """
    Athen=Athens Braunschweig=Brunswick Brüssel=Brussels Florenz=Florence Genf=Geneva
    Hannover=Hanover Kairo=Cairo Köln=Cologne Kopenhagen=Copenhagen Krakau=Krakow Lissabon=Lisbon
    Mailand=Milan Moskau=Moscow München=Munich Neapel=Naples Nürnberg=Nuremberg Peking=Beijing
    Prag=Prague Rom=Rome Straßburg=Strasbourg Tokio=Tokyo Venedig=Venice Warschau=Warsaw Wien=Vienna
    Zürich=Zurich
    """.split()
)
# The names that many pairs have, in German and in English, what may stand for each, and what more
# where it is in no genitive.
_FREQUENT = (
    ("Tom", "Tom", MEN, MEN_IN_S),
    ("Maria", "Maria", WOMEN, ()),
    ("Maria", "Mary", WOMEN, ()),
    ("Mary", "Mary", WOMEN, ()),
    ("Boston", "Boston", CITIES, ()),
)
INVENTED = 0.25  # of the names are syllables at random: nobody's list has all names
KEPT = 0.15  # of the names and numbers
_ONSETS = "B D F G H J K L M N P R S T V W Br Dr Fr Gr Kr Tr Sch St Sp Kl Pl Th Ch Y Z".split()
_MIDDLES = "a e i o u ei au an en in on ar er or al el il".split()
_CODAS = "la ra na mir lan rik do ta ko bert nik mo ve sa li rin der ner mann berg ke ska".split()


def with_variation(pair: TextPair, seed: int = 0) -> TextPair:
    """The pair with other names, cities and numbers, the same ones on both sides.

    What stands on both sides is changed, and most often: the pair and ``seed`` decide.
    """
    rng = random.Random(f"{seed}/{pair.source_text}/{pair.target_text}")
    source, target = pair
    for german, english, names, in_s in _FREQUENT:
        if rng.random() < KEPT:
            continue
        if not re.search(rf"\b{german}s\b", source):
            names = [*names, *in_s]
        name = invented_name(rng) if rng.random() < INVENTED else rng.choice(names)
        source, target = _replace(source, target, german, english, name)
    if rng.random() >= KEPT:
        source, target = _with_other_numbers(source, target, rng)
    return TextPair(source, target)


def _replace(source: str, target: str, german: str, english: str, name: str) -> tuple[str, str]:
    in_source, in_target = re.compile(rf"\b{german}(?=s?\b)"), re.compile(rf"\b{english}(?=s?\b)")
    if not (in_source.search(source) and in_target.search(target)):
        return source, target
    return in_source.sub(name, source), in_target.sub(name, target)


def invented_name(rng: random.Random) -> str:
    """Such as Kranik or Feiberg."""
    middle = rng.choice(_MIDDLES)
    return rng.choice(_ONSETS) + middle + rng.choice(_CODAS)


def _with_other_numbers(source: str, target: str, rng: random.Random) -> tuple[str, str]:
    """Other digits in each number that stands on both sides; as many digits, the first not 0."""
    for number in sorted({*re.findall(r"\d+", source)} & {*re.findall(r"\d+", target)}):
        low = 10 ** (len(number) - 1)
        other = str(rng.randrange(max(2, low), 10 * low))
        whole = re.compile(rf"(?<!\d){number}(?!\d)")
        source, target = whole.sub(other, source), whole.sub(other, target)
    return source, target
