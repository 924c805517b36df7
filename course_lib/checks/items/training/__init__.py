"""Items of lesson 11: learning rate, loss, accuracy and BLEU.

B batch, T target length, V vocabulary.
"""
