"""What is asked for, and what may go wrong: a package for each lesson, a module for each item."""
