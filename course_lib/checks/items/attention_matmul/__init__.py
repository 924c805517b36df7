"""Items of lesson 04: who reads what, and how much of it.

B batch, H heads, Q query length, K key length, S either, D d_model, E d_head.
"""
