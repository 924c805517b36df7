"""Variants of assignments: other conventions for each group of a class."""
