// What is seen, in words: for the panel beside the picture, for screen readers, for the table.

const quote = (text) => `“${text}”`;
const number = (v) => v.toFixed(4);
const KINDS = { self: "self-attention", causal: "causal self-attention", cross: "cross-attention" };
const UNSEEN = "nothing: all keys are masked";
const STEP_NAMES = { scores: "score", scaled: "scaled score", masked: "masked score", weights: "weight" };

const headName = (head) => (head === MEAN ? "mean of heads" : `head ${head}`);

// The keys that a query reads most, best first: [{key, value}].
function topKeys(m, query, count = 3) {
  return range(m.columns)
    .filter((key) => !m.hidden[query * m.columns + key])
    .map((key) => ({ key, value: m.values[query * m.columns + key] }))
    .sort((x, y) => y.value - x.value || x.key - y.key)
    .slice(0, count);
}

function cellText(m, axes, query, key) {
  const i = query * m.columns + key;
  const pair = `${quote(axes.queries[query].text)} reads ${quote(axes.keys[key].text)}`;
  const pad = axes.keys[key].pad || axes.queries[query].pad ? " (padding)" : "";
  return `${pair}: ${m.hidden[i] ? "masked" : number(m.values[i])}${pad}`;
}

function rowText(m, axes, query) {
  const top = topKeys(m, query).map(({ key, value }) => `${quote(axes.keys[key].text)} ${number(value)}`);
  return `${quote(axes.queries[query].text)} reads most: ${top.join(", ") || UNSEEN}.`;
}

// The queries that read a key most, best first: [{query, value}].
function topQueries(m, key, count = 3) {
  return range(m.rows)
    .filter((query) => !m.hidden[query * m.columns + key])
    .map((query) => ({ query, value: m.values[query * m.columns + key] }))
    .sort((x, y) => y.value - x.value || x.query - y.query)
    .slice(0, count);
}

// Entropy, and the alignment error rate where the right links are known.
function headText({ entropy, error }, columns) {
  const spread = `entropy ${entropy.toFixed(2)} of at most ${Math.log(columns).toFixed(2)} nats`;
  return error === null ? spread : `${spread}; alignment error rate ${error.toFixed(2)}`;
}

// What one is at: a cell, a row, a column or a head.
function focusText({ m, axes, summary }, focus) {
  if (focus.layer !== undefined) {
    const head = headText(summary(focus.layer, focus.head), m.columns);
    return `layer ${focus.layer}, ${headName(focus.head)}: ${head}`;
  }
  if (focus.query === undefined) {
    const top = topQueries(m, focus.key)
      .map(({ query, value }) => `${quote(axes.queries[query].text)} ${number(value)}`);
    return `${quote(axes.keys[focus.key].text)} is read most by: ${top.join(", ") || "nobody"}.`;
  }
  if (focus.key === undefined) return rowText(m, axes, focus.query);
  return `${cellText(m, axes, focus.query, focus.key)}. ${rowText(m, axes, focus.query)}`;
}
