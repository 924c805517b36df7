"""Items of lesson 08: the parts become one model."""
