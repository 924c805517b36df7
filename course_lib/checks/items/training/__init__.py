"""Items of lesson 11: learning rate and loss.

B batch, T target length, V vocabulary.
"""
