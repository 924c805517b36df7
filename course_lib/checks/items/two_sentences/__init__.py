"""Items of lesson 10: a loss, a step, and what a loss is worth."""
