"""Items of lesson 05: attention with einsum, one letter per axis.

b batch, h heads, q queries, k keys, s sequence (queries or keys), d d_model, e d_head.
"""
