"""Items of lesson 05: attention with a letter for each axis.

b sentences, h heads, q words that read, k words that are read, s either, d numbers per word,
e numbers per word and head.
"""
