"""Everyday German: sentences of Tatoeba, alone and with captions and the course's grammar."""

from course_lib.data.everyday.mixture import everyday_corpus
from course_lib.data.everyday.tatoeba import tatoeba_corpus

__all__ = ["everyday_corpus", "tatoeba_corpus"]
