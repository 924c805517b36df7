"""The shared library of the course *The Transformer, Question by Question*."""
