// What is seen as a PNG, and the explorer as one HTML file that needs nothing else.

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escapeText = (text) => text.replace(/[&<>"]/g, (c) => ESCAPES[c]);
const fileName = (title) => title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "attention";

function download(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// The canvases on top of each other, with the title above and the colours' meaning below.
function composePng(canvases, title, { theme, palette, limits, m }) {
  const ratio = self.devicePixelRatio || 1, [{ width, height }] = canvases;
  const out = document.createElement("canvas");
  const wide = Math.max(width, ratio * 340);
  out.width = wide + 24 * ratio;
  out.height = height + 92 * ratio;
  const ctx = out.getContext("2d");
  ctx.fillStyle = theme.back;
  ctx.fillRect(0, 0, out.width, out.height);
  for (const canvas of canvases) ctx.drawImage(canvas, 12 * ratio, 44 * ratio);
  ctx.scale(ratio, ratio);
  write(ctx, fit(title, wide / ratio, 14, 600), 12, 22, { size: 14, weight: 600, colour: theme.ink });
  const y = height / ratio + 64;
  for (let i = 0; i < 120; i++) {
    ctx.fillStyle = palette.css((i / 119) * 255);
    ctx.fillRect(12 + i, y, 1.5, 10);
  }
  const hidden = m.hidden.includes(1) ? "; hatched: masked" : "";
  const meaning = `${limits[0].toFixed(2)} – ${limits[1].toFixed(2)} ${STEP_NAMES[m.step]}${hidden}`;
  write(ctx, meaning, 142, y + 5, { size: 11, colour: theme.soft });
  return new Promise((resolve) => out.toBlob(resolve, "image/png"));
}

const toBase64 = (bytes) => {
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text);
};

function standAlone({ module, style, data, state, title }) {
  const packed = toBase64(data), start = JSON.stringify(state);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">
<title>${escapeText(title)}</title>
<style>body { margin: 16px; } main { max-width: 1100px; margin: 0 auto; }</style></head>
<body><main id="here"></main>
<script type="application/json" id="source">${JSON.stringify({ module, style }).replaceAll("<", "\\u003c")}</script>
<script type="module">
const source = JSON.parse(document.getElementById("source").textContent);
const url = URL.createObjectURL(new Blob([source.module], { type: "text/javascript" }));
const { mount } = await import(url);
const data = Uint8Array.from(atob("${packed}"), (c) => c.charCodeAt(0));
await mount(document.getElementById("here"), { ...source, data, state: ${start} });
</script></body></html>
`;
}
