"""The machine, drawn: words, vectors, sublayers and streams as vector graphics in one language of
form and colour. A drawing is a function that names what it shows; its numbers are given to it.
"""
