"""A widget for each lesson: one idea to interact with, and a static image where no kernel runs.

Each is a function that returns an `InteractiveFigure`. It takes what the lesson has built, from
tensors to functions, so that learners can pass in their own.
"""
