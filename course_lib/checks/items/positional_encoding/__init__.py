"""Items of lesson 01: where a token stands."""
