"""The marks of a class: those of the checks, and over them those that a person gave."""
