// One head as lines: queries on the left, keys on the right, as the paper's figures 3 to 5.

const FAINT = 0.02; // lighter lines would hardly be seen, but there are many and they take long
const SHADES = 8; // lines of one shade are drawn in one stroke

const LINES = {
  layout({ axes }, width) {
    const rows = Math.max(axes.queries.length, axes.keys.length);
    const most = Math.min(170, width * 0.32);
    // The axes' names stand above the labels and need room too.
    const [left, right] = [axes.queries, axes.keys].map((groups) => Math.ceil(Math.max(72, widest(groups, most))) + 22);
    const pitch = Math.max(15, Math.min(28, Math.floor(660 / rows)));
    const gap = Math.max(70, Math.min(420, Math.floor(width - left - right)));
    const top = 30, shift = (groups) => top + ((rows - groups.length) * pitch) / 2;
    return {
      x0: left, x1: left + gap, left, right, pitch, most,
      y0: shift(axes.queries), y1: shift(axes.keys), rows: axes.queries.length, columns: axes.keys.length,
      width: left + gap + right, height: top + rows * pitch + 8,
    };
  },

  frame(ctx, { axes, theme }, { x0, x1, y0, y1, pitch, most }) {
    write(ctx, "query (reads)", x0 - 10, 10, { size: 11, align: "right", colour: theme.soft });
    write(ctx, "key (is read)", x1 + 10, 10, { size: 11, colour: theme.soft });
    axes.queries.forEach(({ text, pad }, q) => write(ctx, fit(text, most), x0 - 10, y0 + (q + 0.5) * pitch,
      { align: "right", colour: pad ? theme.soft : theme.ink }));
    axes.keys.forEach(({ text, pad }, k) => write(ctx, fit(text, most), x1 + 10, y1 + (k + 0.5) * pitch,
      { colour: pad ? theme.soft : theme.ink }));
  },

  // How strong a line is, 0 to 1. Scores have a sign: those below zero get no line.
  strength: ({ m, limits }, i) => (m.hidden[i] ? 0 : Math.max(0, m.values[i]) / limits[1]),

  cells(ctx, scene, layout) {
    const { m, axes, theme, state } = scene;
    this.boxes(ctx, scene, layout, (k) => range(m.rows).every((q) => m.hidden[q * m.columns + k]));
    if (state.gold) {
      ctx.strokeStyle = theme.gold;
      ctx.setLineDash([3, 4]);
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      for (const { query, key } of axes.gold) this.curve(ctx, layout, query, key);
      ctx.stroke();
      ctx.setLineDash([]);
    }
    // Lines of about one strength are drawn together: thousands would take too long one by one.
    const buckets = range(SHADES).map(() => []);
    for (let q = 0; q < m.rows; q++) for (let k = 0; k < m.columns; k++) {
      const strength = this.strength(scene, q * m.columns + k);
      if (strength > FAINT && !axes.queries[q].pad)
        buckets[Math.min(SHADES - 1, Math.floor(strength * SHADES))].push(q, k);
    }
    buckets.forEach((pairs, bucket) => this.strokes(ctx, layout, theme.line, (bucket + 0.5) / SHADES, pairs));
  },

  strokes(ctx, layout, colour, strength, pairs) {
    if (!pairs.length) return;
    ctx.strokeStyle = colour;
    ctx.globalAlpha = 0.12 + 0.88 * Math.min(1, strength);
    ctx.lineWidth = 0.5 + 3.5 * Math.min(1, strength);
    ctx.beginPath();
    for (let i = 0; i < pairs.length; i += 2) this.curve(ctx, layout, pairs[i], pairs[i + 1]);
    ctx.stroke();
    ctx.globalAlpha = 1;
  },

  curve(ctx, { x0, x1, y0, y1, pitch }, query, key) {
    const from = y0 + (query + 0.5) * pitch, to = y1 + (key + 0.5) * pitch, third = (x1 - x0) / 3;
    ctx.moveTo(x0, from);
    ctx.bezierCurveTo(x0 + third, from, x1 - third, to, x1, to);
  },

  // Hatched marks beside the keys that nobody, or the chosen query, may read.
  boxes(ctx, { theme }, { x1, y1, pitch, columns }, isHidden) {
    for (let k = 0; k < columns; k++)
      if (isHidden(k)) hatch(ctx, theme, x1, y1 + k * pitch + 2, 6, pitch - 4);
  },

  over(ctx, scene, layout, focus) {
    const { m, axes, theme, locked } = scene, { x0, x1, y0, y1, pitch, most } = layout;
    const query = focus?.query ?? (focus?.key === undefined ? locked : undefined);
    const key = focus?.key;
    if ((query ?? null) === null && key === undefined) return;
    ctx.fillStyle = theme.back;
    ctx.globalAlpha = 0.88;
    ctx.fillRect(x0, 22, x1 - x0, layout.height - 22);
    ctx.globalAlpha = 1;
    const one = (q, k) => {
      const strength = this.strength(scene, q * m.columns + k);
      if (strength > FAINT / 4) this.strokes(ctx, layout, theme.line, strength, [q, k]);
    };
    if ((query ?? null) !== null) {
      range(m.columns).forEach((k) => one(query, k));
      this.boxes(ctx, scene, layout, (k) => m.hidden[query * m.columns + k]);
      tag(ctx, theme, axes.queries[query].text, x0 - 10, y0 + (query + 0.5) * pitch, "right", most);
      const shown = key === undefined ? topKeys(m, query).slice(0, 1).map((t) => t.key) : [key];
      for (const k of shown) tag(ctx, theme, axes.keys[k].text, x1 + 10, y1 + (k + 0.5) * pitch, "left", most);
    } else {
      range(m.rows).forEach((q) => one(q, key));
      tag(ctx, theme, axes.keys[key].text, x1 + 10, y1 + (key + 0.5) * pitch, "left", most);
    }
  },

  hit({ x0, x1, y0, y1, pitch, rows, columns }, x, y) {
    const query = Math.floor((y - y0) / pitch), key = Math.floor((y - y1) / pitch);
    if (x < x0 + (x1 - x0) / 3) return query >= 0 && query < rows ? { query } : null;
    if (x > x1 - (x1 - x0) / 3) return key >= 0 && key < columns ? { key } : null;
    return null;
  },
};
