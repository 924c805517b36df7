// One head as a matrix: a query is a row, a key is a column.
//
// A view has four parts: `layout` measures, `frame` draws what stays the same from head to head,
// `cells` what changes with the head, `over` what changes with the pointer; `hit` says what lies at
// a point. Each part has a canvas of its own, so that moving a slider draws the cells alone.

const HEATMAP = {
  layout({ axes }, width) {
    const columns = axes.keys.length, rows = axes.queries.length;
    const left = Math.ceil(Math.max(86, widest(axes.queries, Math.max(86, Math.min(150, width * 0.3))))) + 10;
    const room = (width - left - 12) / columns;
    const cell = Math.max(4, Math.min(52, Math.floor(room), Math.max(10, Math.floor(680 / rows))));
    // Short labels stand level where each fits above its column, the others upright.
    const level = axes.keys.every((key) => widthOf(key.text, LABEL, 600) <= cell - 4);
    const top = 26 + (level ? 18 : Math.ceil(widest(axes.keys, 110)) + 8);
    return {
      left, top, cell, level, rows, columns,
      width: left + columns * cell + 12, height: top + rows * cell + 8,
      every: Math.ceil(14 / cell), // label only every so many rows and columns
    };
  },

  frame(ctx, { axes, theme }, { left, top, cell, level, rows, columns, every }) {
    const soft = { size: 11, colour: theme.soft };
    write(ctx, "key (is read) →", left, 9, soft);
    write(ctx, "query (reads) ↓", left - 8, top - 10, { ...soft, align: "right" });
    hatch(ctx, theme, left, top, columns * cell, rows * cell);
    axes.queries.forEach((query, q) => {
      if (q % every) return;
      const colour = query.pad ? theme.soft : theme.ink;
      write(ctx, fit(query.text, left - 14), left - 8, top + (q + 0.5) * cell, { align: "right", colour });
    });
    axes.keys.forEach((key, k) => {
      if (k % every) return;
      const colour = key.pad ? theme.soft : theme.ink, x = left + (k + 0.5) * cell;
      if (level) return write(ctx, key.text, x, top - 11, { align: "center", colour });
      ctx.save();
      ctx.translate(x, top - 6);
      ctx.rotate(-Math.PI / 2);
      write(ctx, fit(key.text, top - 34), 0, 0, { colour });
      ctx.restore();
    });
  },

  cells(ctx, scene, layout) {
    const { m, axes, theme, palette, limits, state } = scene, { left, top, cell } = layout;
    paintCells(ctx, m, palette, limits, left, top, m.columns * cell, m.rows * cell);
    // A pad's row is no use to anyone, whatever it reads: it is there, but faded.
    ctx.fillStyle = theme.back;
    ctx.globalAlpha = 0.65;
    axes.queries.forEach((query, q) => {
      if (query.pad) ctx.fillRect(left, top + q * cell, m.columns * cell, cell);
    });
    ctx.globalAlpha = 1;
    if (cell >= 34 && m.columns * m.rows <= 400) this.numbers(ctx, scene, layout);
    if (state.gold) drawGold(ctx, scene, (query, key) => [left + (key + 0.5) * cell, top + (query + 0.5) * cell], cell);
  },

  numbers(ctx, { m, limits: [low, high], palette, theme }, { left, top, cell }) {
    m.values.forEach((v, i) => {
      if (m.hidden[i]) return;
      const c = palette.table[Math.max(0, Math.min(255, Math.round(((v - low) / (high - low)) * 255)))];
      const bright = 0.299 * (c & 255) + 0.587 * ((c >> 8) & 255) + 0.114 * ((c >> 16) & 255) > 140;
      const [x, y] = [left + ((i % m.columns) + 0.5) * cell, top + (Math.floor(i / m.columns) + 0.5) * cell];
      const text = m.step === "weights" ? v.toFixed(2) : v.toFixed(1);
      write(ctx, text, x, y + 0.5, { size: 10.5, align: "center", colour: bright ? "#1d2430" : "#ffffff" });
    });
  },

  over(ctx, { axes, theme, locked }, { left, top, cell, rows, columns }, focus) {
    if (locked !== null) {
      ctx.fillStyle = theme.back;
      ctx.globalAlpha = 0.6;
      ctx.fillRect(left, top, columns * cell, locked * cell);
      ctx.fillRect(left, top + (locked + 1) * cell, columns * cell, (rows - locked - 1) * cell);
      ctx.globalAlpha = 1;
    }
    const query = focus?.query ?? locked;
    if (query === null || query === undefined) return;
    ctx.strokeStyle = theme.accent;
    ctx.lineWidth = 2;
    ctx.strokeRect(left - 1, top + query * cell - 1, columns * cell + 2, cell + 2);
    tag(ctx, theme, axes.queries[query].text, left - 10, top + (query + 0.5) * cell, "right", left - 20);
    if (focus?.key === undefined) return;
    const x = left + focus.key * cell;
    ctx.strokeRect(x - 1, top + focus.query * cell - 1, cell + 2, cell + 2);
    const text = axes.keys[focus.key].text, wide = widthOf(fit(text, 140, LABEL, 600), LABEL, 600) + 8;
    const free = Math.max(4, Math.min(x + cell / 2 - wide / 2, left + columns * cell + 8 - wide));
    tag(ctx, theme, text, free + 4, top - 11, "left", 140);
  },

  hit({ left, top, cell, rows, columns }, x, y) {
    const query = Math.floor((y - top) / cell), key = Math.floor((x - left) / cell);
    if (query < 0 || query >= rows || key >= columns) return null;
    return key < 0 ? { query } : { query, key };
  },
};

// Rings where the right links are, a dot where each of their queries reads most.
function drawGold(ctx, { m, axes, theme }, place, size) {
  const radius = Math.max(2.5, Math.min(9, size * 0.36));
  const ring = (query, key, r, fill) => {
    ctx.beginPath();
    ctx.arc(...place(query, key), r, 0, 2 * Math.PI);
    ctx.lineWidth = fill ? 1.5 : 4;
    ctx.strokeStyle = theme.halo;
    ctx.stroke();
    if (fill) { ctx.fillStyle = theme.gold; return ctx.fill(); }
    ctx.lineWidth = 2;
    ctx.strokeStyle = theme.gold;
    ctx.stroke();
  };
  for (const { query, key } of axes.gold) ring(query, key, radius, false);
  for (const query of new Set(axes.gold.map((link) => link.query))) {
    const key = mostRead(m, query);
    if (key >= 0) ring(query, key, Math.max(1.5, radius * 0.4), true);
  }
}
