"""What builds and measures the course: notebooks, exercises, pages, benchmarks. Not installed."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
