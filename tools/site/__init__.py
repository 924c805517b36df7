"""The course as a static site, from what is stored: nothing is executed, nothing is fetched."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ASSETS = Path(__file__).parent / "assets"
