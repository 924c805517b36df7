"""What the tests read from an explorer in a page, and how they point at it."""

import json
from base64 import b64decode

import numpy as np


def state(page):
    return json.loads(page.get_attribute(".ae", "data-state"))


def focus(page):
    return json.loads(page.get_attribute(".ae", "data-focus") or "null")


def layout(page):
    return json.loads(page.get_attribute(".ae", "data-geometry"))


def panel(page):
    return page.inner_text(".ae-panel")


def pixels(page):
    """The cells as they were drawn, one colour per CSS pixel: (height, width, 4)."""
    width, height, encoded = page.evaluate(
        """() => {
          const canvas = document.querySelector(".ae-cells");
          const { width, height } = canvas;
          const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
          let bytes = "";
          for (let i = 0; i < data.length; i += 8192)
            bytes += String.fromCharCode(...data.subarray(i, i + 8192));
          return [width, height, btoa(bytes)];
        }"""
    )
    return np.frombuffer(b64decode(encoded), dtype=np.uint8).reshape(height, width, 4).astype(float)


def choose_view(page, name):
    page.click(f".ae-segments span:text-is('{name}')")


def point(page, x, y):
    box = page.locator(".ae-stage").bounding_box()
    page.mouse.move(box["x"] + x, box["y"] + y)
