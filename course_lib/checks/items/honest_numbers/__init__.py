"""Items of lesson 12: BLEU, the paired bootstrap and the standard error of a share."""
