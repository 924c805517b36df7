// @ts-check
// The explorer as one HTML file that needs no other file, and what saving any file needs.

/** @import { State } from "./constants.js" */

/** @type {Record<string, string>} */
const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** @param {string} text */
export const escapeHtml = (text) => text.replace(/[&<>"]/g, (character) => ESCAPES[character]);

/**
 * A file name without an ending: lower case, and hyphens for all but letters and digits.
 *
 * @param {string} title
 */
export const fileName = (title) =>
  title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "attention";

/**
 * @param {Blob} blob
 * @param {string} name
 */
export function download(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** @param {Uint8Array} bytes */
function toBase64(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text);
}

/**
 * A page that mounts the explorer when it is opened.
 *
 * @param {{ module: string, style: string, data: Uint8Array, state: State, title: string }} parts
 */
export function standalonePage({ module, style, data, state, title }) {
  // No value can end the script element: "<" is escaped in all of them.
  const source = JSON.stringify({ module, style, state }).replaceAll("<", "\\u003c");
  return [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">',
    `<title>${escapeHtml(title)}</title>`,
    "<style>body { margin: 16px; } main { max-width: 880px; margin: 0 auto; }",
    "h1 { font: 600 20px system-ui, sans-serif; } h1 ~ * .ae-what { display: none; }</style></head>",
    `<body><main><h1>${escapeHtml(title)}</h1><div id="explorer"></div></main>`,
    `<script type="application/json" id="source">${source}</script>`,
    '<script type="module">',
    'const source = JSON.parse(document.getElementById("source").textContent);',
    'const url = URL.createObjectURL(new Blob([source.module], { type: "text/javascript" }));',
    "const { mount } = await import(url);",
    `const data = Uint8Array.from(atob("${toBase64(data)}"), (c) => c.charCodeAt(0));`,
    'await mount(document.getElementById("explorer"), { ...source, data });',
    "</script></body></html>",
    "",
  ].join("\n");
}
