"""Export and compare the models that the course ships."""
