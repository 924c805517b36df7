"""Two questions for a short conversation with each student, drawn from what they handed in."""
