// @ts-check
// Every attention weight of a translation: all heads of one part of the model as small heatmaps, one of them large.

import { hatch, paintCells, resizeCanvas } from "../explorer/drawing/canvas.js";
import { THEMES, onThemeChange, rampOf, themeAround } from "../explorer/drawing/colour.js";
import { make } from "../explorer/controls/dom.js";
import { cellAt, drawHeatmap, layoutHeatmap } from "./heat_canvas.js";
import { THUMBNAIL, WEIGHTS } from "./sizes.js";

/** @import { Matrix as Cells } from "../explorer/data/data.js" */
/** @import { Cell, HeatLayout } from "./heat_canvas.js" */
/** @import { Matrix } from "./transformer.js" */
/** @import { Translation } from "./translate.js" */

/** @typedef {keyof typeof PARTS} Part */

const PARTS = {
  cross: {
    name: "Decoder → encoder (cross-attention)", queries: "target", keys: "source", steps: true,
    note: "A row is a step, named after the token that it generates. It attends to the German tokens in the columns.",
  },
  decoder: {
    name: "Decoder (self-attention)", queries: "input", keys: "input", steps: true,
    note: "A row is a token that the decoder has read. It attends to itself and the tokens before it; the mask " +
      "hides the others (hatched), which do not exist yet when a sentence is generated.",
  },
  encoder: {
    name: "Encoder (self-attention)", queries: "source", keys: "source", steps: false,
    note: "A row is a German token. It attends to all tokens of its sentence, itself included.",
  },
};

/** @type {Record<string, [rows: number, columns: number]>} */
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/**
 * The weights of a head as cells to paint.
 *
 * @param {Matrix} weights
 * @param {boolean} causal whether later keys are masked
 * @returns {Cells}
 */
const cellsOf = ({ rows, columns, data }, causal) => ({
  rows, columns, values: data, step: "weights",
  masked: Uint8Array.from(data, (_, i) => +(causal && i % columns > Math.floor(i / columns))),
});

/**
 * @param {HTMLElement} root is filled
 * @param {(token: string) => string} label of a token
 * @param {(step: number) => void} choose is called with the step whose row was clicked
 */
export function makeAttentionView(root, label, choose) {
  const chosen = { part: /** @type {Part} */ ("cross"), layer: 0, head: 0 };
  /** @type {Translation | null} */
  let translation = null;
  /** @type {Cell | null} */
  let focus = null;
  /** @type {HeatLayout | null} */
  let layout = null;
  let step = 0;

  const inputs = Object.keys(PARTS).map((part) => make("input", { type: "radio", name: "part", value: part }));
  const tabs = make("fieldset", { className: "choices" }, make("legend", { textContent: "Part of the model" }),
    ...Object.values(PARTS).map(({ name }, i) => make("label", {}, inputs[i], name)));
  const note = make("p", { className: "soft" }), heads = make("div", { className: "heads" });
  const title = make("h3"), readout = make("p", { className: "readout" });
  const canvas = make("canvas", { tabIndex: 0, aria: { role: "application" } });
  const scroller = make("div", { className: "scroll" }, canvas);
  root.replaceChildren(tabs, note, make("div", { className: "attention" }, heads,
    make("div", { className: "large" }, title, scroller, readout)));

  const palette = () => rampOf(WEIGHTS[themeAround(root)]);
  const theme = () => THEMES[themeAround(root)];
  const words = (/** @type {Translation} */ of) => {
    const { queries, keys } = PARTS[chosen.part];
    return { queries: of[/** @type {"target"} */ (queries)].map(label), keys: of[/** @type {"target"} */ (keys)].map(label) };
  };

  /** One button for each head, a row for each layer. */
  function drawHeads(/** @type {Translation} */ of) {
    const layers = of.attention[chosen.part], count = layers[0].length, colours = palette();
    const fitting = Math.floor((heads.clientWidth - 20) / count) - 12;
    const width = Math.max(THUMBNAIL.narrowest, Math.min(THUMBNAIL.widest, fitting));
    heads.style.setProperty("--heads", String(count));
    const active = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.head : undefined;
    heads.replaceChildren(...layers.flatMap((layer, l) => layer.map((weights, h) => {
      const aspect = weights.rows / weights.columns, { flattest, tallest } = THUMBNAIL;
      const height = Math.round(width * Math.max(flattest, Math.min(tallest, aspect)));
      const small = make("canvas", { aria: { hidden: true } }), ctx = resizeCanvas(small, width, height);
      if (chosen.part === "decoder") hatch(ctx, theme(), 0, 0, width, height);
      paintCells(ctx, cellsOf(weights, chosen.part === "decoder"), colours, [0, 1], 0, 0, width, height);
      const pressed = l === chosen.layer && h === chosen.head;
      const button = make("button", { type: "button", dataset: { head: `${l} ${h}` }, aria: { pressed } },
        small, make("span", { textContent: `layer ${l}, ` }), make("span", { textContent: `head ${h}` }));
      button.addEventListener("click", () => { Object.assign(chosen, { layer: l, head: h }); draw(); });
      return button;
    })));
    for (const button of heads.querySelectorAll("button")) if (button.dataset.head === active) button.focus();
  }

  function drawLarge(/** @type {Translation} */ of) {
    const { queries, keys } = words(of), causal = chosen.part === "decoder";
    const cells = cellsOf(of.attention[chosen.part][chosen.layer][chosen.head], causal);
    const marked = PARTS[chosen.part].steps ? step : null;
    layout = layoutHeatmap(queries, keys, scroller.clientWidth);
    drawHeatmap(canvas, layout, { cells, queries, keys, theme: theme(), palette: palette(), marked, focus });
    title.textContent = `${PARTS[chosen.part].name}, layer ${chosen.layer}, head ${chosen.head}`;
    canvas.setAttribute("aria-label", `${title.textContent}: ${queries.length} queries by ${keys.length} keys. ` +
      `The arrow keys move from cell to cell${marked === null ? "" : ", Enter chooses the step of a row"}.`);
    readout.textContent = describe(cells, queries, keys, focus?.query ?? marked ?? 0, focus?.key);
  }

  function draw() {
    if (!translation || !scroller.clientWidth) return; // nothing to draw yet, or hidden
    for (const input of inputs) input.checked = input.value === chosen.part;
    note.textContent = PARTS[chosen.part].note;
    drawHeads(translation);
    drawLarge(translation);
  }

  for (const input of inputs)
    input.addEventListener("change", () => {
      chosen.part = /** @type {Part} */ (input.value);
      focus = null;
      draw();
    });
  const focusOn = (/** @type {Cell | null} */ cell) => {
    focus = cell;
    if (translation) drawLarge(translation);
  };
  const pointed = (/** @type {MouseEvent} */ event) => layout && cellAt(layout, event.offsetX, event.offsetY);
  canvas.addEventListener("pointermove", (event) => focusOn(pointed(event)));
  canvas.addEventListener("pointerleave", () => focusOn(null));
  canvas.addEventListener("click", (event) => {
    const cell = pointed(event);
    if (cell && PARTS[chosen.part].steps) choose(cell.query);
    focusOn(cell); // a finger does not hover
  });
  // Spoken while the arrow keys move, but not with every translation.
  canvas.addEventListener("focus", () => readout.setAttribute("aria-live", "polite"));
  canvas.addEventListener("blur", () => { readout.removeAttribute("aria-live"); focusOn(null); });
  canvas.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return; // the browser's own
    if (event.key === "Enter" && focus && PARTS[chosen.part].steps) {
      const cell = focus;
      choose(cell.query);
      focusOn(cell);
    }
    if (event.key === "Escape") focusOn(null);
    const move = MOVES[event.key];
    if (!move || !layout) return;
    event.preventDefault();
    const { rows, columns } = layout, from = focus ?? { query: PARTS[chosen.part].steps ? step : 0, key: -move[1] };
    const within = (/** @type {number} */ value, /** @type {number} */ count) =>
      Math.max(0, Math.min(count - 1, value));
    focusOn({ query: within(from.query + move[0], rows), key: within(from.key + move[1], columns) });
    if (focus) scrollToCell(scroller, layout, focus);
  });
  let width = 0; // drawing changes the height, which must not draw again
  new ResizeObserver(() => {
    if (root.clientWidth !== width) draw();
    width = root.clientWidth;
  }).observe(root);
  onThemeChange(draw);

  return (/** @type {Translation} */ of, /** @type {number} */ at) => {
    [translation, step, focus] = [of, at, null];
    draw();
  };
}

/**
 * Scroll a large heatmap as little as shows a cell.
 *
 * @param {HTMLElement} scroller
 * @param {HeatLayout} layout
 * @param {Cell} shown
 */
function scrollToCell(scroller, { left, top, cell }, { query, key }) {
  const x = left + key * cell, y = top + query * cell, { clientWidth, clientHeight } = scroller;
  scroller.scrollLeft = Math.min(x, Math.max(scroller.scrollLeft, x + 2 * cell - clientWidth));
  scroller.scrollTop = Math.min(y, Math.max(scroller.scrollTop, y + 2 * cell - clientHeight));
}

/**
 * A cell and its row in words.
 *
 * @param {Cells} cells
 * @param {string[]} queries
 * @param {string[]} keys
 * @param {number} query
 * @param {number} [key]
 */
function describe(cells, queries, keys, query, key) {
  const at = (/** @type {number} */ k) => query * cells.columns + k;
  const most = keys.map((word, k) => ({ word, k })).filter(({ k }) => !cells.masked[at(k)])
    .sort((a, b) => cells.values[at(b.k)] - cells.values[at(a.k)]).slice(0, 3)
    .map(({ word, k }) => `“${word}” ${cells.values[at(k)].toFixed(3)}`);
  const row = `“${queries[query]}” attends most to: ${most.join(", ")}.`;
  if (key === undefined) return row;
  const weight = cells.masked[at(key)] ? "masked" : cells.values[at(key)].toFixed(4);
  return `“${queries[query]}” attends to “${keys[key]}”: ${weight}. ${row}`;
}
