// Many heads, small: those of one layer side by side, or all layers × heads. The mean comes last.

function thumbnails(places, size, extra) {
  return {
    places, ...size, ...extra,
    width: Math.max(...places.map((p) => p.x)) + size.w + 4,
    height: Math.max(...places.map((p) => p.y)) + size.h + extra.below,
  };
}

function paintThumbnails(ctx, scene, { places, w, h }) {
  for (const { x, y, layer, head } of places) {
    const m = scene.matrix(layer, head);
    if (scene.a.anyHidden) hatch(ctx, scene.theme, x, y, w, h);
    paintCells(ctx, m, scene.palette, limitsOf(m, scene.state.stretch), x, y, w, h);
    ctx.strokeStyle = scene.theme.edge;
    ctx.lineWidth = 1;
    ctx.strokeRect(x - 0.5, y - 0.5, w + 1, h + 1);
  }
}

function markThumbnail(ctx, { theme, state }, { places, w, h }, focus) {
  const outline = (p, width) => {
    ctx.lineWidth = width;
    ctx.strokeRect(p.x - 2, p.y - 2, w + 4, h + 4);
  };
  ctx.strokeStyle = theme.accent;
  for (const p of places) {
    if (p.layer === state.layer && p.head === state.head) outline(p, 3);
    else if (focus && p.layer === focus.layer && p.head === focus.head) outline(p, 1.5);
  }
}

// The head at a point and, within it, the very cell.
function hitThumbnail({ places, w, h, below, rows, columns }, x, y) {
  const p = places.find((q) => x >= q.x && x < q.x + w && y >= q.y && y < q.y + h + below);
  if (!p) return null;
  const found = { layer: p.layer, head: p.head };
  if (y >= p.y + h) return found;
  return { ...found, query: Math.floor(((y - p.y) / h) * rows), key: Math.floor(((x - p.x) / w) * columns) };
}

const HEADS = {
  layout({ a, axes, state }, width) {
    const count = a.nHeads + (a.nHeads > 1), gap = 14;
    const shape = Math.max(0.5, Math.min(1.5, axes.queries.length / axes.keys.length));
    const fitting = Math.max(2, Math.floor((width + gap) / (width < 500 ? 150 : 170)));
    const across = Math.min(count, fitting);
    const w = Math.min(230, Math.floor((width - 6 - gap * (across - 1)) / across)), h = Math.round(w * shape);
    const places = range(count).map((i) => ({
      layer: state.layer, // and whichever is chosen later
      head: i < a.nHeads ? i : MEAN,
      x: 3 + (i % across) * (w + gap), y: 22 + Math.floor(i / across) * (h + 46),
    }));
    return thumbnails(places, { w, h }, { below: 22, across, rows: axes.queries.length, columns: axes.keys.length });
  },
  frame() {},
  cells(ctx, scene, layout) {
    for (const place of layout.places) place.layer = scene.state.layer;
    paintThumbnails(ctx, scene, layout);
    for (const { x, y, layer, head } of layout.places) {
      const { entropy, error } = scene.summary(layer, head);
      write(ctx, headName(head), x, y - 11, { weight: 600, colour: scene.theme.ink });
      const text = `entropy ${entropy.toFixed(2)}` + (error === null ? "" : ` · AER ${error.toFixed(2)}`);
      write(ctx, fit(text, layout.w, 11), x, y + layout.h + 12, { size: 11, colour: scene.theme.soft });
    }
  },
  over: markThumbnail,
  hit: hitThumbnail,
};

const GRID = {
  layout({ a, axes }, width) {
    const across = a.nHeads + (a.nHeads > 1), gap = width < 500 ? 3 : 8, left = 24, apart = a.nHeads > 1 ? 8 : 0;
    const w = Math.max(18, Math.min(120, Math.floor((width - left - apart - 6) / across) - gap));
    const h = Math.round(w * Math.max(0.5, Math.min(1.5, axes.queries.length / axes.keys.length)));
    const below = w >= 44 ? 24 : 10;
    const places = range(a.nLayers * across).map((i) => {
      const column = i % across, last = column === a.nHeads;
      return {
        layer: Math.floor(i / across), head: last ? MEAN : column,
        x: left + column * (w + gap) + (last ? apart : 0), y: 40 + Math.floor(i / across) * (h + below + gap),
      };
    });
    return thumbnails(places, { w, h }, { below, across, rows: axes.queries.length, columns: axes.keys.length });
  },
  frame(ctx, { theme }, { places, w, h, across }) {
    const soft = { size: 11, colour: theme.soft };
    write(ctx, "head →", places[0].x, 9, soft);
    write(ctx, "layer ↓", 2, 26, soft);
    for (const { x, head } of places.slice(0, across)) {
      if (head === 0 && w <= 34) continue; // "layer" stands there
      const name = head === MEAN ? (w < 36 ? "x̄" : "mean") : `${head}`;
      write(ctx, name, x + w / 2, 26, { ...soft, align: "center" });
    }
    for (const { y, layer, head } of places)
      if (head === 0) write(ctx, `${layer}`, 14, y + h / 2, { ...soft, align: "center" });
  },
  // Under each head a bar: its mean entropy, full where every key is read alike.
  cells(ctx, scene, layout) {
    paintThumbnails(ctx, scene, layout);
    const { theme } = scene, { w, h, below } = layout;
    for (const { x, y, layer, head } of layout.places) {
      const { entropy, error } = scene.summary(layer, head);
      const share = entropy / (Math.log(layout.columns) || 1);
      ctx.fillStyle = theme.edge;
      ctx.fillRect(x, y + h + 5, w, 3);
      ctx.fillStyle = theme.line;
      ctx.fillRect(x, y + h + 5, w * Math.min(1, share), 3);
      if (below < 24) continue;
      const text = error === null ? entropy.toFixed(2) : `${w > 70 ? "AER " : ""}${error.toFixed(2)}`;
      write(ctx, text, x, y + h + 16, { size: 10.5, colour: error === null ? theme.soft : theme.gold });
    }
  },
  over: markThumbnail,
  hit: hitThumbnail,
};

const VIEWS = { heatmap: HEATMAP, lines: LINES, heads: HEADS, grid: GRID };
const isOverview = (view) => view === "heads" || view === "grid";
