"""Items of lesson 02: what a token is, plus where it stands."""
