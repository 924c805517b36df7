"""Items of lesson 18: what a token costs.

B batch, H heads of queries, G heads of keys and values, Q queries, K keys, t tokens in the past, n
new ones, E d_head, L d_latent.
"""
