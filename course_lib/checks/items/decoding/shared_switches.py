"""Switches that greedy decoding and beam search have in common, with the same words."""

from course_lib.checks.engine import Item


def add_mode_not_put_back(item: Item) -> None:
    """Add ``mode_not_put_back``: decoding leaves the model in evaluation mode."""
    item.switch(
        "mode_not_put_back",
        "The model is in evaluation mode afterwards, although it came in training mode.",
        why="If you translate a few sentences between two epochs, the rest of training would run "
        "without dropout.",
        hint="Which mode was the model in when your code got it?",
    )


def add_encodes_again(item: Item) -> None:
    """Add ``encodes_again``: the encoder runs at each step."""
    item.switch(
        "encodes_again",
        "Your code runs the encoder again for each token.",
        why="The source doesn't change, so neither does its memory. The result is right, but it "
        "takes longer.",
        hint="Which part of the model's work can be done before the loop?",
    )
