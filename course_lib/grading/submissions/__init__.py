"""What somebody handed in, as plain text: read, and put into a fresh copy of the exercise."""
