"""Items of lesson 13: attention maps, and alignments made from them.

N layers, B batch, H heads, T target length, S source length, Q queries, K keys. A link is (source
index, target index).
"""
