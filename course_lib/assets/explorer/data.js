// The parts of this folder are joined in the order that explorer_page.py gives: one ES module
// without dependencies. This part unpacks what Python packed, and makes matrices of it.

const MEAN = -1; // the number of the head that stands for the mean of all
const STEPS = ["scores", "scaled", "masked", "weights"];
const range = (n) => Array.from({ length: n }, (_, i) => i);

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// All high bytes stand before all low ones, because deflate likes that better.
function fromPlanes(bytes, start, count) {
  const numbers = new Uint16Array(count);
  for (let i = 0; i < count; i++) numbers[i] = (bytes[start + i] << 8) | bytes[start + count + i];
  return numbers;
}

async function unpack(packed) {
  const bytes = await inflate(packed);
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const [nLayers, nHeads, nQueries, nKeys] = header.shape;
  const count = nLayers * nHeads * nQueries * nKeys;
  const weights = fromPlanes(bytes, 4 + length, count);
  const scores = "low" in header ? fromPlanes(bytes, 4 + length + 2 * count, count) : null;
  const hidden = Uint8Array.from({ length: nQueries * nKeys }, (_, i) => +(header.hidden[i] ?? 0));
  const tokens = header.queries.length + header.keys.length;
  const words = header.queryWords.at(-1) + header.keyWords.at(-1) + 2;
  return {
    ...header, nLayers, nHeads, nQueries, nKeys, weights, scores, hidden,
    anyHidden: hidden.includes(1), hasPieces: words < tokens,
  };
}

// What stands on the axes: tokens, or words whose pieces are joined.
function axesOf(a, joined) {
  const side = (tokens, words) => {
    const groups = [];
    tokens.forEach((token, i) => {
      const g = joined ? words[i] : i;
      (groups[g] ??= { members: [], text: "", pad: true }).members.push(i);
      groups[g].text += joined ? token.replace(/^[▁Ġ]|^##|@@$/g, "") : token.replace(/^Ġ/, "▁");
      groups[g].pad &&= token === a.pad;
    });
    return groups;
  };
  const queries = side(a.queries, a.queryWords), keys = side(a.keys, a.keyWords);
  const place = (groups, i) => groups.findIndex((g) => g.members.includes(i));
  const seen = new Set();
  const gold = a.gold
    .map(([key, query]) => ({ query: place(queries, query), key: place(keys, key) }))
    .filter(({ query, key }) => !seen.has(`${query},${key}`) && seen.add(`${query},${key}`));
  return { joined, queries, keys, gold };
}

// One head at one step: `values` and `hidden`, row after row; `rows` queries and `columns` keys.
// Pieces of a word are joined as Clark et al. (2019) do: summed over keys, averaged over queries.
function matrixOf(a, axes, step, layer, head) {
  const cells = a.nQueries * a.nKeys;
  const source = step === "weights" ? a.weights : a.scores;
  const low = step === "weights" ? 0 : a.low;
  const high = step === "weights" ? 1 : a.high;
  const heads = head === MEAN ? range(a.nHeads) : [head];
  const scale = step === "weights" || step === "scores" ? 1 : 1 / Math.sqrt(a.dHead);
  const slope = ((high - low) / 65535 / heads.length) * scale;
  let values = new Float32Array(cells).fill(low * scale);
  for (const h of heads) {
    const start = (layer * a.nHeads + h) * cells;
    for (let i = 0; i < cells; i++) values[i] += source[start + i] * slope;
  }
  const masked = step === "masked" || step === "weights";
  let hidden = masked ? a.hidden : new Uint8Array(cells);
  const rows = axes.queries.length, columns = axes.keys.length;
  if (axes.joined) [values, hidden] = join(a, axes, values, hidden);
  return { values, hidden, rows, columns, step };
}

function join(a, axes, values, hidden) {
  const columns = axes.keys.length, size = axes.queries.length * columns;
  const sums = new Float32Array(size), covered = new Uint8Array(size);
  axes.queries.forEach((query, q) => axes.keys.forEach((key, k) => {
    let sum = 0, seen = false;
    for (const i of query.members) for (const j of key.members) {
      sum += values[i * a.nKeys + j];
      seen ||= !hidden[i * a.nKeys + j];
    }
    sums[q * columns + k] = sum / query.members.length;
    covered[q * columns + k] = +!seen;
  }));
  return [sums, covered];
}

// The key that a query reads most, or -1 where nothing may be read.
function mostRead(m, query) {
  let best = -1;
  for (let k = 0; k < m.columns; k++) {
    const i = query * m.columns + k;
    if (!m.hidden[i] && (best < 0 || m.values[i] > m.values[query * m.columns + best])) best = k;
  }
  return best;
}

// How widely the queries read, on average, in nats.
function entropyOf(m) {
  let sum = 0;
  for (const w of m.values) if (w > 0) sum -= w * Math.log(w);
  return sum / m.rows;
}

// Each query that has a right key is linked to the key it reads most (Och and Ney 2003).
function alignmentError(m, gold) {
  if (!gold.length) return null;
  const queries = [...new Set(gold.map((link) => link.query))];
  const found = queries.map((query) => ({ query, key: mostRead(m, query) })).filter((l) => l.key >= 0);
  const right = found.filter((l) => gold.some((g) => g.query === l.query && g.key === l.key));
  return 1 - (2 * right.length) / (found.length + gold.length);
}

// The colours' two ends. Weights are comparable from head to head unless they are stretched.
function limitsOf(m, stretch) {
  let largest = 0;
  m.values.forEach((v, i) => { if (!m.hidden[i]) largest = Math.max(largest, Math.abs(v)); });
  if (m.step !== "weights") return [-(largest || 1), largest || 1];
  return [0, stretch ? largest || 1 : 1];
}
