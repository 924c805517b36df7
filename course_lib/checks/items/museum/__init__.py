"""Items of lesson 15: six bugs from five published systems.

B batch, H heads, Q queries, K keys, S either, T target length, V vocabulary, D d_model, E d_head.
"""
