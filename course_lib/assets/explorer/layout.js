// Helpers that every view shares: canvases, labels that fit, hatching, and cells in colour.

const FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif";
const LABEL = 12; // pixels, as all lengths here
const font = (size = LABEL, weight = 400) => `${weight} ${size}px ${FONT}`;

const ruler = document.createElement("canvas").getContext("2d");
function widthOf(text, size = LABEL, weight = 400) {
  ruler.font = font(size, weight);
  return ruler.measureText(text).width;
}

function fit(text, width, size = LABEL, weight = 400) {
  if (widthOf(text, size, weight) <= width) return text;
  let end = text.length;
  while (end > 1 && widthOf(text.slice(0, end) + "…", size, weight) > width) end--;
  return text.slice(0, end) + "…";
}

const widest = (groups, most) => Math.min(most, Math.max(...groups.map((g) => widthOf(g.text, LABEL, 600))));

// A canvas of sharp pixels on any screen; drawn in CSS pixels.
function resize(canvas, width, height) {
  const ratio = self.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const ctx = canvas.getContext("2d");
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  return ctx;
}

function clear(ctx) {
  ctx.save();
  ctx.resetTransform();
  ctx.clearRect(0, 0, ctx.canvas.width, ctx.canvas.height);
  ctx.restore();
}

const tiles = new Map(); // by theme: a hundred small heads are hatched alike

function tileOf(theme) {
  if (tiles.has(theme)) return tiles.get(theme);
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const t = tile.getContext("2d");
  t.fillStyle = theme.hatched;
  t.fillRect(0, 0, 6, 6);
  t.strokeStyle = theme.hatch;
  t.beginPath();
  for (const shift of [-6, 0, 6]) { t.moveTo(shift, 6); t.lineTo(shift + 6, 0); }
  t.stroke();
  tiles.set(theme, tile);
  return tile;
}

// Masked cells are hatched, never drawn as a zero.
function hatch(ctx, theme, x, y, width, height) {
  ctx.fillStyle = ctx.createPattern(tileOf(theme), "repeat");
  ctx.fillRect(x, y, width, height);
}

const scratch = document.createElement("canvas");

// Cells in colour, masked ones left out. Where there are more cells than pixels, the largest value
// of those that share a pixel is shown: no peak is lost in a small picture.
function paintCells(ctx, m, palette, [low, high], x, y, width, height) {
  const ratio = self.devicePixelRatio || 1;
  const columns = Math.min(m.columns, Math.ceil(width * ratio));
  const rows = Math.min(m.rows, Math.ceil(height * ratio));
  const image = new ImageData(columns, rows), pixels = new Uint32Array(image.data.buffer);
  const factor = 255 / (high - low), { table } = palette, small = columns < m.columns || rows < m.rows;
  const colour = (v) => table[Math.max(0, Math.min(255, ((v - low) * factor + 0.5) | 0))];
  if (small) {
    const best = new Float32Array(columns * rows).fill(-Infinity);
    for (let q = 0; q < m.rows; q++) for (let k = 0; k < m.columns; k++) {
      const i = q * m.columns + k, p = ((q * rows / m.rows) | 0) * columns + ((k * columns / m.columns) | 0);
      if (!m.hidden[i] && m.values[i] > best[p]) best[p] = m.values[i];
    }
    best.forEach((v, p) => { if (v > -Infinity) pixels[p] = colour(v); });
  } else {
    for (let i = 0; i < pixels.length; i++) if (!m.hidden[i]) pixels[i] = colour(m.values[i]);
  }
  scratch.width = columns;
  scratch.height = rows;
  scratch.getContext("2d").putImageData(image, 0, 0);
  ctx.imageSmoothingEnabled = false;
  ctx.drawImage(scratch, 0, 0, columns, rows, x, y, width, height);
}

function write(ctx, text, x, y, { size = LABEL, weight = 400, align = "left", colour }) {
  ctx.font = font(size, weight);
  ctx.textAlign = align;
  ctx.textBaseline = "middle";
  ctx.fillStyle = colour;
  ctx.fillText(text, x, y);
}

// A label that stands out: what the pointer or the keyboard is at.
function tag(ctx, theme, text, x, y, align, most) {
  const shown = fit(text, most, LABEL, 600), width = widthOf(shown, LABEL, 600) + 8;
  ctx.fillStyle = theme.accent;
  ctx.beginPath();
  ctx.roundRect(align === "left" ? x - 4 : x - width + 4, y - 9, width, 18, 4);
  ctx.fill();
  write(ctx, shown, x, y, { weight: 600, align, colour: theme.back });
}
