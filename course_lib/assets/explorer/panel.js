// Beside the picture: the head's name and numbers, and the row one is at with its strongest keys.
// Below it: what the colours mean, and the same as a table.

function fillPanel(panel, scene, focus, release) {
  const { m, state, locked } = scene;
  const at = focus?.layer !== undefined ? focus : { layer: state.layer, head: state.head };
  const query = focus?.query ?? (focus?.key === undefined ? locked : null);
  const shown = scene.matrix(at.layer, at.head);
  const soft = (tag, text) => make(tag, { className: "ae-soft", textContent: text });
  const lines = [
    make("div", { className: "ae-name", textContent: `layer ${at.layer}, ${headName(at.head)}` }),
    soft("div", `${KINDS[scene.a.kind]}, ${headText(scene.summary(at.layer, at.head), m.columns)}`),
  ];
  if (query !== null) lines.push(...rowLines(scene, shown, query, focus?.key));
  else if (focus?.key !== undefined) lines.push(...columnLines(scene, shown, focus.key));
  else lines.push(
    soft("p", isOverview(state.view) ? "Point at a head to read it. Click it, or press Enter, to open it."
      : "Point at a cell or a token. A click, or Enter, locks its row."),
    soft("p", "Arrow keys walk, Page Up and Page Down change the head."));
  if (locked !== null && !isOverview(state.view)) {
    const button = make("button", { type: "button", textContent: "Release the row" });
    button.addEventListener("click", release);
    lines.push(button);
  }
  panel.replaceChildren(...lines);
  keepKeys(panel);
}

const rowName = (group, text) => make("div", { className: "ae-row" },
  make("b", { textContent: quote(group.text) + (group.pad ? " (padding)" : "") }), text);

function rowLines(scene, m, query, key) {
  const { axes, locked } = scene, top = topKeys(m, query);
  const lines = [
    rowName(axes.queries[query], query === locked ? " is locked, reads" : " reads"),
    ...bars(scene, m, top.map((t) => [axes.keys[t.key].text, t.value])),
  ];
  if (!top.length) lines.push(make("div", { textContent: UNSEEN }));
  if (key !== undefined)
    lines.push(make("div", { className: "ae-cell", textContent: cellText(m, axes, query, key) }));
  return lines;
}

function columnLines(scene, m, key) {
  const top = topQueries(m, key).map((t) => [scene.axes.queries[t.query].text, t.value]);
  return [rowName(scene.axes.keys[key], " is read by"), ...bars(scene, m, top)];
}

function bars({ limits }, m, pairs) {
  const most = m.step === "weights" ? 1 : limits[1];
  return pairs.map(([text, value]) => {
    const share = Math.max(0, Math.min(1, value / most));
    return make("div", { className: "ae-bar" },
      make("span", { className: "ae-bar-name", textContent: text }),
      make("span", { className: "ae-bar-line" }, make("i", { style: `width: ${share * 100}%` })),
      make("span", { className: "ae-bar-value", textContent: number(value) }));
  });
}

function fillLegend(legend, scene) {
  const { a, axes, m, state, theme } = scene, name = STEP_NAMES[m.step], lines = state.view === "lines";
  const item = (className, text) => make("span", { className: "ae-item" }, make("i", { className }), text);
  const own = isOverview(state.view) && (state.stretch || m.step !== "weights");
  const gold = a.gold.length > 0 && state.gold && !isOverview(state.view);
  const pads = [...axes.queries, ...axes.keys].some((group) => group.pad);
  legend.replaceChildren(...[
    own ? make("span", { className: "ae-item" }, "each head in colours of its own")
      : lines ? item("ae-stroke", `${name}: the darker and thicker, the more`) : colourScale(scene),
    m.hidden.includes(1) && item("ae-hatched", "masked"),
    pads && item("ae-faded", "padding, faded"),
    state.view === "grid" && item("ae-entropy", "mean entropy, full if all keys are read alike"),
    gold && item(lines ? "ae-dashed" : "ae-ring", "gold link"),
    gold && !lines && item("ae-dot", "read most"),
  ].filter(Boolean));
  legend.style.setProperty("--hatch", theme.hatch);
}

function colourScale({ m, limits: [low, high], palette, state }) {
  const strip = make("i", { className: "ae-scale" }), weights = m.step === "weights";
  strip.style.background = palette.gradient;
  return make("span", { className: "ae-item" }, low.toFixed(weights ? 0 : 2), strip,
    high.toFixed(weights && !state.stretch ? 0 : 2), ` ${STEP_NAMES[m.step]}`);
}

// The same for those who do not see the picture: each query and what it reads.
function fillTable(table, { m, axes }) {
  const head = ["query (reads)", "keys read most"].map((text) => make("th", { scope: "col", textContent: text }));
  const rows = axes.queries.map((query, q) => {
    const top = topKeys(m, q).map(({ key, value }) => `${axes.keys[key].text} ${number(value)}`).join(", ");
    return make("tr", {},
      make("th", { scope: "row", textContent: `${query.text}${query.pad ? " (padding)" : ""}` }),
      make("td", { textContent: top || UNSEEN }));
  });
  table.replaceChildren(make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
}
