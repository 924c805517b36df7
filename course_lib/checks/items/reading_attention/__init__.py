"""Items of lesson 14: attention maps, and alignments made from them.

N layers, B batch, H heads, T target length, S source length, Q queries, K keys. A link is (source
index, target index).
"""
