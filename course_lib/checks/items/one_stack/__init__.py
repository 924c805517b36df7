"""Items of lesson 16: one stack of blocks that continues a text.

B batch, L length of source, BOS, target and EOS together, S source length, V vocabulary.
"""
