"""Items of lesson 11: what to count, how far to step, how to score translations.

B batch, T target length, V vocabulary.
"""
