// @ts-check
// The whole model in about 350 lines: the Transformer of "Attention Is All You Need" (Vaswani et al. 2017), from
// token ids to logits, and from logits to a translation. It computes what course_lib/model and, greedily or by
// beam search, course_lib/decoding compute, without PyTorch. Sections and equations are the paper's, lessons the
// course's.
// Not here: from text to ids (words.js, subwords.js), reading the weights from a file (weights.js), training.
//
// A matrix has a row for each token and, between the sublayers, d_model columns. There is no batch dimension: one
// sentence at a time has no padding either, so the only mask is the causal one (lesson 06).

/** @typedef {{ rows: number, columns: number, data: Float32Array }} Matrix row after row */
/** @typedef {Matrix[][]} AttentionWeights by layer and head; (queries, keys) each, rows of sum 1 */
/** @typedef {{ keys: Matrix, values: Matrix }} KeysAndValues */
/** @typedef {{ tokens: number[], logProb: number }} Hypothesis without BOS, with EOS if it was generated */

/**
 * The KV cache: keys and values of the tokens decoded so far, so that none is computed twice (lesson 13).
 *
 * @typedef {object} Cache
 * @property {number} length how many target tokens it holds
 * @property {Record<string, KeysAndValues>} layers by the name of the attention layer
 */

/**
 * Sizes and choices, under the names of Python's TransformerConfig.
 *
 * @typedef {object} Config
 * @property {number} d_model
 * @property {number} n_heads
 * @property {number} n_layers blocks in the encoder, and again in the decoder
 * @property {number} max_len longest sequence, in tokens
 * @property {"pre" | "post"} norm whether LayerNorm comes before a sublayer or, as in the paper, after the sum
 * @property {boolean} final_norm one more LayerNorm after the last block, which "pre" needs
 * @property {number} norm_eps
 * @property {"none" | "output" | "all"} tying which tables are one: none, target and output, or source, too
 * @property {number} bos_id the token that begins a target sentence
 * @property {number} eos_id the token that ends it
 */

// ---- Arithmetic ---------------------------------------------------------------------------------------

/** @param {number} rows @param {number} columns @returns {Matrix} */
export const makeMatrix = (rows, columns, data = new Float32Array(rows * columns)) => ({ rows, columns, data });

/** @param {Matrix} x @param {number} i */
export const rowOf = (x, i) => x.data.subarray(i * x.columns, (i + 1) * x.columns);

/** @param {Matrix} x @param {Matrix} y */
const add = (x, y) => makeMatrix(x.rows, x.columns, x.data.map((value, i) => value + y.data[i]));

/** The rows of one matrix, then those of another. @param {Matrix} above @param {Matrix} below */
function stack(above, below) {
  const all = makeMatrix(above.rows + below.rows, above.columns);
  all.data.set(above.data);
  all.data.set(below.data, above.data.length);
  return all;
}

/** x · y of vectors inside longer arrays. */
function dot(/** @type {Float32Array} */ x, /** @type {number} */ startX,
  /** @type {Float32Array} */ y, /** @type {number} */ startY, /** @type {number} */ length) {
  let sum = 0;
  for (let k = 0; k < length; k++) sum += x[startX + k] * y[startY + k];
  return sum;
}

/**
 * x · Wᵀ + b: PyTorch's nn.Linear, whose W has a row for each output. Most time is spent here: four outputs at once
 * are faster than one after the other.
 */
function linear(/** @type {Matrix} */ x, /** @type {Matrix} */ weight, /** @type {Matrix} */ bias) {
  const y = makeMatrix(x.rows, weight.rows), n = x.columns, w = weight.data;
  for (let i = 0; i < x.rows; i++) {
    const row = rowOf(x, i), out = rowOf(y, i);
    let j = 0;
    for (; j + 3 < weight.rows; j += 4) {
      const first = j * n, second = first + n, third = second + n, fourth = third + n;
      let a = 0, b = 0, c = 0, d = 0;
      for (let k = 0; k < n; k++) {
        const value = row[k];
        a += value * w[first + k];
        b += value * w[second + k];
        c += value * w[third + k];
        d += value * w[fourth + k];
      }
      out[j] = a;
      out[j + 1] = b;
      out[j + 2] = c;
      out[j + 3] = d;
    }
    for (; j < weight.rows; j++) out[j] = dot(row, 0, w, j * n, n);
    for (j = 0; j < weight.rows; j++) out[j] += bias.data[j];
  }
  return y;
}

/** Positive numbers of sum 1. Those of -∞ become 0. @param {Float32Array} scores */
export function softmax(scores) {
  const largest = scores.reduce((a, b) => Math.max(a, b)); // subtracted, so that no exponential overflows
  const powers = scores.map((score) => Math.exp(score - largest));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / sum);
}

/** The logarithms of softmax. @param {Float32Array} logits */
export function logSoftmax(logits) {
  const largest = logits.reduce((a, b) => Math.max(a, b));
  const sum = logits.reduce((total, logit) => total + Math.exp(logit - largest), 0);
  return logits.map((logit) => logit - largest - Math.log(sum));
}

/** The indices of the largest values, largest first; of equal values the first. */
export function largestIndices(/** @type {Float32Array} */ values, /** @type {number} */ count) {
  const found = /** @type {number[]} */ ([]);
  values.forEach((value, i) => {
    if (found.length === count && value <= values[found[count - 1]]) return;
    let rank = found.length;
    while (rank > 0 && value > values[found[rank - 1]]) rank--;
    found.splice(rank, 0, i);
    if (found.length > count) found.pop();
  });
  return found;
}

// ---- The parts of the model ---------------------------------------------------------------------------

/** Mean 0 and variance 1 in each row, then scale and shift (Ba et al. 2016, equation 4; lesson 03). */
function layerNorm(/** @type {Matrix} */ x, /** @type {Matrix} */ scale, /** @type {Matrix} */ shift,
  /** @type {number} */ eps) {
  const y = makeMatrix(x.rows, x.columns);
  for (let i = 0; i < x.rows; i++) {
    const row = rowOf(x, i), mean = row.reduce((a, b) => a + b, 0) / row.length;
    const variance = row.reduce((total, value) => total + (value - mean) ** 2, 0) / row.length;
    const factor = 1 / Math.sqrt(variance + eps);
    rowOf(y, i).set(row.map((value, k) => (value - mean) * factor * scale.data[k] + shift.data[k]));
  }
  return y;
}

/** PE(pos, 2i) = sin(pos / 10000^(2i / d)), PE(pos, 2i + 1) = cos(…) (section 3.5; lesson 01). */
export function positionalEncoding(/** @type {number} */ position, /** @type {number} */ width) {
  return Float32Array.from({ length: width }, (_, k) => {
    const angle = position * 10_000 ** -((k - (k % 2)) / width);
    return k % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}

/**
 * softmax(Q · Kᵀ / √d_head) · V (equation 1; lesson 04) in each head, that is, in each slice of d_head
 * columns. Causal: a query may attend to itself and to what comes before it (section 3.2.3; lesson 06).
 *
 * @param {Matrix} queries the last of the positions that have keys, if causal
 * @param {KeysAndValues} given
 * @param {number} nHeads
 * @param {boolean} causal
 */
function attend(queries, { keys, values }, nHeads, causal) {
  const width = queries.columns, dHead = width / nHeads, context = makeMatrix(queries.rows, width);
  const weights = Array.from({ length: nHeads }, () => makeMatrix(queries.rows, keys.rows));
  weights.forEach((head, h) => {
    for (let q = 0; q < queries.rows; q++) {
      const visible = causal ? keys.rows - queries.rows + q + 1 : keys.rows; // the other keys keep weight 0
      const scores = new Float32Array(visible).map((_, k) =>
        dot(queries.data, q * width + h * dHead, keys.data, k * width + h * dHead, dHead) / Math.sqrt(dHead));
      rowOf(head, q).set(softmax(scores));
      for (let k = 0; k < visible; k++)
        for (let e = h * dHead; e < (h + 1) * dHead; e++)
          context.data[q * width + e] += head.data[q * keys.rows + k] * values.data[k * width + e];
    }
  });
  return { context, weights };
}

// ---- The model (Figure 1; lessons 07 and 08) ----------------------------------------------------------

export class Transformer {
  /** @param {Config} config @param {Record<string, Matrix>} weights named as in PyTorch */
  constructor(config, weights) {
    this.config = config;
    this.weights = { ...weights };
    // One table may serve as two or three, and is stored once (section 3.4; lesson 08).
    const source = "source_embedding.tokens.weight", target = "target_embedding.tokens.weight";
    if (config.tying === "all") this.weights[target] = this.weights[source];
    if (config.tying !== "none") this.weights["output.weight"] = this.weights[target];
  }

  /** @param {string} name of a linear layer @param {Matrix} x */
  linear(name, x) {
    return linear(x, this.weights[`${name}.weight`], this.weights[`${name}.bias`]);
  }

  /** @param {string} name of a LayerNorm @param {Matrix} x */
  norm(name, x) {
    return layerNorm(x, this.weights[`${name}.weight`], this.weights[`${name}.bias`], this.config.norm_eps);
  }

  /** Table row · √d_model + position (sections 3.4 and 3.5; lessons 01 and 02). */
  embed(/** @type {"source" | "target"} */ side, /** @type {number[]} */ tokens, firstPosition = 0) {
    const table = this.weights[`${side}_embedding.tokens.weight`], x = makeMatrix(tokens.length, table.columns);
    tokens.forEach((token, i) => {
      const position = positionalEncoding(firstPosition + i, x.columns);
      rowOf(x, i).set(rowOf(table, token).map((value, k) => value * Math.sqrt(x.columns) + position[k]));
    });
    return x;
  }

  /** The residual connection and its LayerNorm, around any sublayer (section 3.1; lesson 03). */
  addNorm(/** @type {string} */ name, /** @type {Matrix} */ x, /** @type {(y: Matrix) => Matrix} */ sublayer) {
    if (this.config.norm === "pre") return add(x, sublayer(this.norm(`${name}.norm`, x)));
    return this.norm(`${name}.norm`, add(x, sublayer(x)));
  }

  /** W₂ · max(0, W₁ · x + b₁) + b₂ at each position (equation 2; lesson 03). */
  feedForward(/** @type {string} */ name, /** @type {Matrix} */ x) {
    const hidden = this.linear(`${name}.expand`, x);
    hidden.data.forEach((value, k) => { hidden.data[k] = Math.max(0, value); }); // ReLU
    return this.linear(`${name}.contract`, hidden);
  }

  /** The keys and values of `read`, after those of earlier tokens. @returns {KeysAndValues} */
  keysAndValues(/** @type {string} */ name, /** @type {Matrix} */ read, /** @type {KeysAndValues=} */ cached) {
    const keys = this.linear(`${name}.k_proj`, read), values = this.linear(`${name}.v_proj`, read);
    return cached ? { keys: stack(cached.keys, keys), values: stack(cached.values, values) } : { keys, values };
  }

  /**
   * Multi-head attention (section 3.2.2; lesson 04). In self-attention x and `read` are the same; in
   * cross-attention (lesson 07) `read` is the memory, which never changes, so a cache that has it is enough.
   *
   * @param {string} name of the layer
   * @param {Matrix} x gives the queries
   * @param {Matrix} read gives the keys and values
   * @param {AttentionWeights} record is given the weights of each head
   * @param {Cache} [cache] the decoder's
   */
  attention(name, x, read, record, cache) {
    const isSelf = x === read, cached = cache?.layers[name];
    const given = cached && !isSelf ? cached : this.keysAndValues(name, read, cached);
    if (cache) cache.layers[name] = given;
    const queries = this.linear(`${name}.q_proj`, x), causal = isSelf && cache !== undefined;
    const { context, weights } = attend(queries, given, this.config.n_heads, causal);
    record.push(weights);
    return this.linear(`${name}.out_proj`, context);
  }

  /**
   * The encoder: what the decoder will read of the source, its memory (S, d_model).
   *
   * @param {number[]} source
   */
  encode(source) {
    /** @type {AttentionWeights} */
    const attention = [];
    let x = this.embed("source", source);
    for (let i = 0; i < this.config.n_layers; i++) {
      const layer = `encoder.layers.${i}`;
      x = this.addNorm(`${layer}.add_norm_1`, x, (y) => this.attention(`${layer}.self_attention`, y, y, attention));
      x = this.addNorm(`${layer}.add_norm_2`, x, (y) => this.feedForward(`${layer}.feed_forward`, y));
    }
    return { memory: this.config.final_norm ? this.norm("encoder.final_norm", x) : x, attention };
  }

  /**
   * The decoder and the output layer: for each target token the logits of the token that follows it (T, vocab).
   *
   * @param {number[]} target begins with BOS; with a cache, only the tokens that are not in it
   * @param {Matrix} memory
   */
  decode(target, memory, cache = emptyCache()) {
    /** @type {AttentionWeights} */
    const decoder = [], /** @type {AttentionWeights} */ cross = [];
    let x = this.embed("target", target, cache.length);
    cache.length += target.length;
    for (let i = 0; i < this.config.n_layers; i++) {
      const layer = `decoder.layers.${i}`;
      x = this.addNorm(`${layer}.add_norm_1`, x,
        (y) => this.attention(`${layer}.self_attention`, y, y, decoder, cache));
      x = this.addNorm(`${layer}.add_norm_2`, x,
        (y) => this.attention(`${layer}.cross_attention`, y, memory, cross, cache));
      x = this.addNorm(`${layer}.add_norm_3`, x, (y) => this.feedForward(`${layer}.feed_forward`, y));
    }
    x = this.config.final_norm ? this.norm("decoder.final_norm", x) : x;
    return { logits: this.linear("output", x), decoder, cross };
  }

  /** The most tokens to generate: enough for any honest translation, and it always stops (lesson 13). */
  limit(/** @type {Matrix} */ memory) {
    return Math.min(2 * memory.rows + 10, this.config.max_len);
  }
}

/** @returns {Cache} */
const emptyCache = () => ({ length: 0, layers: {} });

// ---- Decoding (lesson 13) -----------------------------------------------------------------------------

/**
 * Greedy decoding: generate the most probable token, read it, generate the next.
 *
 * @param {Transformer} model
 * @param {Matrix} memory of the source
 * @returns {Hypothesis}
 */
export function greedyDecode(model, memory) {
  const { bos_id, eos_id } = model.config, cache = emptyCache();
  /** @type {number[]} */
  const tokens = [];
  let last = bos_id, logProb = 0;
  while (last !== eos_id && tokens.length < model.limit(memory)) {
    const { data } = model.decode([last], memory, cache).logits;
    [last] = largestIndices(data, 1);
    tokens.push(last);
    logProb += logSoftmax(data)[last];
  }
  return { tokens, logProb };
}

/**
 * Beam search: keep `width` prefixes of a translation, extend the most probable ones (section 6.1). Those
 * that are finished, or as long as they may be, are compared by logProb / ((5 + length) / 6) ** lengthPenalty (Wu et al. 2016, section 7).
 *
 * @param {Transformer} model
 * @param {Matrix} memory of the source
 * @param {{ width: number, lengthPenalty?: number }} options
 * @returns {Hypothesis}
 */
export function beamSearch(model, memory, { width, lengthPenalty = 0.6 }) {
  const { bos_id, eos_id } = model.config, limit = model.limit(memory);
  const scoreOf = (/** @type {number} */ logProb, /** @type {number} */ length) =>
    logProb / ((5 + length) / 6) ** lengthPenalty;
  let beams = [{ tokens: /** @type {number[]} */ ([]), logProb: 0, cache: emptyCache(), greedy: true }];
  let best = { tokens: /** @type {number[]} */ ([]), logProb: -Infinity }, bestScore = -Infinity;
  for (let length = 1; beams.length; length++) {
    const continuations = beams.flatMap((beam) => {
      const { data } = model.decode([beam.tokens.at(-1) ?? bos_id], memory, beam.cache).logits;
      const logProbs = logSoftmax(data);
      return largestIndices(data, width).map((token, rank) => (
        { beam, token, logProb: Math.fround(beam.logProb + logProbs[token]), greedy: beam.greedy && rank === 0 }));
    });
    // The greedy translation always stays, so that the result never has a lower score than that.
    continuations.sort((a, b) => +b.greedy - +a.greedy || b.logProb - a.logProb);
    beams = [];
    for (const { beam, token, logProb, greedy } of continuations.slice(0, width)) {
      const tokens = [...beam.tokens, token], score = scoreOf(logProb, length);
      if (token !== eos_id && length < limit) {
        const { length: cached, layers } = beam.cache; // matrices are never changed, so beams can share them
        beams.push({ tokens, logProb, greedy, cache: { length: cached, layers: { ...layers } } });
      } else if (score > bestScore) [best, bestScore] = [{ tokens, logProb }, score];
    }
    // A log-probability only falls, and the longest length makes the most of it: can a beam still win?
    beams = beams.some(({ logProb }) => scoreOf(logProb, limit) > bestScore) ? beams : [];
  }
  return best;
}
