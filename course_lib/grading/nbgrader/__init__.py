"""What nbgrader sees of the course: its settings, its gradebook, its formgrader."""
