"""Items of lesson 06: who may look at whom."""
