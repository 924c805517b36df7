"""What runs inside the jail. It may import of the course only ``checks.engine`` and ``errors``."""
