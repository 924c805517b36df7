// @ts-check
// The picture as a PNG, and the explorer as one HTML file that needs no other file.

import { contextOf, drawText, truncate } from "./canvas.js";
import { STEPS } from "./constants.js";

/** @import { State } from "./constants.js" */
/** @import { Scene } from "./scene.js" */

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

/**
 * The canvases on top of each other, with the title above them and the colour scale below.
 *
 * @param {HTMLCanvasElement[]} canvases
 * @param {string} title
 * @param {Scene} scene
 * @returns {Promise<Blob>}
 */
export function composePng(canvases, title, { theme, palette, limits, matrix }) {
  const ratio = self.devicePixelRatio || 1, [{ width, height }] = canvases;
  const out = document.createElement("canvas");
  const wide = Math.max(width, ratio * 340);
  out.width = wide + 24 * ratio;
  out.height = height + 92 * ratio;
  const ctx = contextOf(out);
  ctx.fillStyle = theme.back;
  ctx.fillRect(0, 0, out.width, out.height);
  for (const canvas of canvases) ctx.drawImage(canvas, 12 * ratio, 44 * ratio);
  ctx.scale(ratio, ratio);
  drawText(ctx, truncate(title, wide / ratio, 14, 600), 12, 22, { size: 14, weight: 600, colour: theme.ink });
  const y = height / ratio + 64;
  for (let i = 0; i < 120; i++) {
    ctx.fillStyle = palette.css((i / 119) * 255);
    ctx.fillRect(12 + i, y, 1.5, 10);
  }
  const masked = matrix.masked.includes(1) ? "; hatched: masked" : "";
  const meaning = `${limits[0].toFixed(2)} – ${limits[1].toFixed(2)} ${STEPS[matrix.step].value}${masked}`;
  drawText(ctx, meaning, 142, y + 5, { size: 11, colour: theme.soft });
  return new Promise((resolve, reject) => {
    out.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser made no PNG"))), "image/png");
  });
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
    "<style>body { margin: 16px; } main { max-width: 1100px; margin: 0 auto; }</style></head>",
    '<body><main id="explorer"></main>',
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
