"""Items of lesson 12: BLEU."""
