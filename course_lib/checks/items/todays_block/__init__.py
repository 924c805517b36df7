"""Items of lesson 17: the block of today, and the configuration that describes it."""
