"""Items of lesson 13: autoregressive decoding.

B batch, H heads, S source length, T target length, W beams, V vocabulary, D d_model, E d_head.
"""
