"""Items of lesson 11: learning rate, loss and accuracy.

B batch, T target length, V vocabulary.
"""
