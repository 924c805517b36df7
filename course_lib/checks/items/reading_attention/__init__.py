"""Items of lesson 13: maps, links and what they are measured with.

N layers, B batch, H heads, T target length, S source length, Q queries, K keys. A link is (source
index, target index).
"""
