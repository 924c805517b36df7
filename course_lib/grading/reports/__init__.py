"""What is made of a class's marks: the report, files for platforms, similar submissions."""
