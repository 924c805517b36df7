// From a state to what is drawn: a scene holds everything that the views need.

const MOST_KEPT = 400; // matrices; more are made again when they are needed

function sceneMaker(a) {
  const cache = new Map();
  const axes = { false: axesOf(a, false), true: a.hasPieces ? axesOf(a, true) : null };

  const remember = (key, compute) => {
    if (cache.size > MOST_KEPT) cache.clear();
    if (!cache.has(key)) cache.set(key, compute());
    return cache.get(key);
  };

  return (state, theme) => {
    const chosen = axes[state.joined];
    const matrixAt = (step, layer, head) =>
      remember(`${step} ${layer} ${head} ${state.joined}`, () => matrixOf(a, chosen, step, layer, head));
    const m = matrixAt(state.step, state.layer, state.head);
    return {
      a, state, m, axes: chosen, theme: THEMES[theme], limits: limitsOf(m, state.stretch),
      palette: paletteOf(state.palette, theme, state.step !== "weights"),
      locked: state.query === null ? null : chosen.queries.findIndex((g) => g.members.includes(state.query)),
      matrix: (layer, head) => matrixAt(state.step, layer, head),
      summary: (layer, head) => remember(`summary ${layer} ${head} ${state.joined} ${state.gold}`, () => {
        const weights = matrixAt("weights", layer, head);
        return { entropy: entropyOf(weights), error: state.gold ? alignmentError(weights, chosen.gold) : null };
      }),
    };
  };
}

// Only what is possible: a stored state may be another version's.
function tidy(state, a) {
  const within = (value, low, high) => Math.max(low, Math.min(high, Math.round(value) || 0));
  state.layer = within(state.layer, 0, a.nLayers - 1);
  state.head = within(state.head, MEAN, a.nHeads - 1);
  if (!(state.view in VIEWS)) state.view = "heatmap";
  if (!(state.palette in PALETTES)) state.palette = "mako";
  if (!a.hasPieces) state.joined = false;
  if (!a.scores || state.joined || !STEPS.includes(state.step)) state.step = "weights";
  if (state.query !== null) state.query = within(state.query, 0, a.nQueries - 1);
}

function titleOf({ a, state }) {
  if (state.view === "grid") return a.title;
  return `${a.title}, layer ${state.layer}` + (state.view === "heads" ? "" : `, ${headName(state.head)}`);
}

function stageLabel(scene) {
  const { a, axes, state } = scene;
  const enter = isOverview(state.view) ? "Enter opens a head" : "Enter locks a row, Escape releases it";
  return `${titleOf(scene)}, ${KINDS[a.kind]}: ${VIEW_NAMES[state.view].toLowerCase()} of ` +
    `${axes.queries.length} queries by ${axes.keys.length} keys. Arrow keys walk, ${enter}, Page Up and Page Down change the head.`;
}
