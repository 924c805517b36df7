"""Items of lesson 08: the modules are assembled into one model."""
