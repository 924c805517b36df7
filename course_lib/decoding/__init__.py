"""From a trained model to translations."""

from course_lib.decoding.greedy import evaluating, greedy_decode
from course_lib.decoding.translate import Translation, Translator

__all__ = ["Translation", "Translator", "evaluating", "greedy_decode"]
