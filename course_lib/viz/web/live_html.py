"""A figure with a script as HTML that needs no kernel, no network and no second file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import zlib
from collections.abc import Mapping
from typing import Any

# A notebook may show one output twice, and may run the script before the picture is in the page:
# so for two seconds this looks for pictures, and brings each to life once. A browser that cannot
# inflate the script and the data keeps the picture. It is one line: each output stores it.
STARTER = re.sub(
    r"\n\s*",
    "",
    """
(() => {
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const start = async (el) => {
    if (!self.DecompressionStream) return;
    const stream = new Blob([bytes(el.querySelector("[data-code]").dataset.code)]).stream();
    const code = await new Response(stream.pipeThrough(new DecompressionStream("deflate"))).json();
    const url = URL.createObjectURL(new Blob([code.module], {type: "text/javascript"}));
    const {mount} = await import(url);
    URL.revokeObjectURL(url);
    await mount(el, {...code, data: bytes(el.querySelector("[data-packed]").dataset.packed)});
  };
  const look = (times) => {
    for (const el of document.querySelectorAll("[data-live=ID]:not([data-found])")) {
      if (!el.querySelector("[data-packed]")) continue;
      el.dataset.found = "";
      start(el).catch((error) => console.error("The interactive figure did not start:", error));
    }
    if (times) setTimeout(look, 50, times - 1);
  };
  look(40);
})();
""",
)


def live_fragment(static: str, code: Mapping[str, Any], packed: bytes = b"") -> str:
    """HTML that is complete without a script, and that its own script brings to life.

    Args:
        static: HTML, shown as it is where no script runs.
        code: "module", the text of an ES module that exports ``mount(element, {…code, data})``,
            and whatever else that function is given.
        packed: bytes that it is given as ``data``.
    """
    deflated = zlib.compress(json.dumps(code, sort_keys=True).encode("utf-8"), 9)
    code_text, data_text = (base64.b64encode(part).decode("ascii") for part in (deflated, packed))
    name = "a" + hashlib.sha256((code_text + data_text).encode("ascii")).hexdigest()[:12]
    return (
        f'<div data-live="{name}">{static}'
        f'<span hidden data-code="{code_text}"></span>'
        f'<span hidden data-packed="{data_text}"></span></div>'
        f"<script>{STARTER.replace('ID', name)}</script>"
    )


def page(content: str, *, title: str) -> str:
    """A complete HTML file around a fragment."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<link rel="icon" href="data:,"><title>{html.escape(title)}</title>\n'
        "<style>body { margin: 16px; } main { max-width: 1100px; margin: 0 auto; }\n"
        "h1 { font: 600 20px system-ui, sans-serif; } h1 ~ * .ae-what { display: none; }\n"
        "img { max-width: 100%; }</style></head>\n"
        f"<body><main><h1>{html.escape(title)}</h1>{content}</main></body></html>\n"
    )
