"""Items of lesson 12: one word after the other.

B batch, H heads, S source length, T target length, W beams, V vocabulary, D d_model, E d_head.
"""
