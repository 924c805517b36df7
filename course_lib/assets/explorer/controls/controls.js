// @ts-check
// The controls above the picture.

import { headStyle } from "../drawing/colour.js";
import { MEAN, PALETTES, SENTENCES, STEPS, VIEW_NAMES } from "../constants.js";
import { range } from "../data/data.js";
import { make, styleSwatch, uniqueName } from "./dom.js";
import { layerWord, viewName } from "../describe.js";
import { isComparison } from "../state.js";
import { makeToggles } from "./toggles.js";

/** @import { Theme } from "../drawing/colour.js" */
/** @import { PaletteName, State, ViewName } from "../constants.js" */
/** @import { Attention } from "../data/data.js" */

/**
 * @typedef {object} Controls
 * @property {HTMLElement} root
 * @property {(state: State, theme: Theme) => void} sync makes the controls show a state
 */

/** @typedef {{ root: HTMLElement, sync: (state: State, theme: Theme) => void }} Control */

/**
 * @param {Attention} attention
 * @param {object} actions
 * @param {(patch: Partial<State>) => void} actions.choose
 * @param {(head: number | null) => void} actions.point shows one of several heads alone
 * @returns {Controls}
 */
export function makeControls(attention, { choose, point }) {
  const group = uniqueName(), { nLayers, nHeads } = attention, word = layerWord(attention);
  let lastHead = 0, lastLayer = 0; // the head is shown again when "mean of heads" is unticked

  /**
   * @param {"view" | "step" | "sentences"} name
   * @param {string} legend
   * @param {[value: string, label: string, spoken?: string][]} options `spoken` is for screen readers, after the label
   * @param {(state: State, value: string) => boolean} disabled
   * @returns {Control}
   */
  const segments = (name, legend, options, disabled = () => false) => {
    const inputs = options.map(([value, label, spoken]) => make("input", {
      type: "radio", name: `${group}-${name}`, value, aria: spoken ? { label: `${label}, ${spoken}` } : {},
    }));
    for (const input of inputs) input.addEventListener("change", () => choose({ [name]: input.value }));
    const root = make("fieldset", { className: `ae-segments ae-${name}` }, make("legend", { textContent: legend }),
      ...options.map(([, label], i) => make("label", {}, inputs[i], make("span", { textContent: label }))));
    return { root, sync: (state) => {
      for (const input of inputs) {
        input.checked = input.value === state[name];
        input.disabled = disabled(state, input.value);
      }
    } };
  };

  /**
   * @param {"layer" | "head"} name
   * @param {number} count
   * @param {string[]} names
   * @param {string} [label]
   * @returns {Control}
   */
  const slider = (name, count, names, label = name) => {
    const input = make("input", { type: "range", min: 0, max: count - 1, step: 1, className: `ae-${name}` });
    const output = make("output", { className: "ae-number" });
    input.addEventListener("input", () => choose({ [name]: +input.value }));
    const root = make("label", { className: "ae-slider" }, make("span", { textContent: label }), input, output);
    return { root, sync: (state) => {
      const isMean = state[name] === MEAN, several = name === "head" && isComparison(state);
      input.value = String(isMean ? lastHead : state[name]);
      output.value = several ? "several" : isMean ? "mean" : names[state[name]] ?? String(state[name]);
      input.setAttribute("aria-valuetext", `${label} ${output.value}`);
    } };
  };

  /**
   * @param {string} name
   * @param {string} text
   * @param {(state: State) => boolean} read
   * @param {(checked: boolean) => Partial<State>} patch
   * @returns {Control}
   */
  const checkbox = (name, text, read, patch) => {
    const input = make("input", { type: "checkbox", className: `ae-${name}` });
    input.addEventListener("change", () => choose(patch(input.checked)));
    const root = make("label", { className: "ae-check" }, input, make("span", { textContent: text }));
    return { root, sync: (state) => { input.checked = read(state); } };
  };
  /** @param {"joined" | "gold" | "stretch"} name @param {string} text */
  const flag = (name, text) => checkbox(name, text, (state) => state[name], (checked) => ({ [name]: checked }));

  /** @returns {Control} */
  const paletteMenu = () => {
    const select = make("select", { className: "ae-palette" },
      ...Object.keys(PALETTES).map((name) => make("option", { value: name, textContent: name })));
    select.addEventListener("change", () => choose({ palette: /** @type {PaletteName} */ (select.value) }));
    const root = make("label", { className: "ae-check" }, make("span", { textContent: "colours" }), select);
    return { root, sync: (state) => { select.value = state.palette; } };
  };

  /** The heads that are drawn now: one, or those that are compared. @type {number[]} */
  let drawn = [];
  /** @returns {Control} */
  const headToggles = () => {
    const { root, inputs } = makeToggles({
      legend: "heads", name: "head", count: nHeads, all: "all", reset: "one", chosen: () => drawn, point, names: attention.headNames,
      choose: (chosen) => choose({ heads: chosen === "all" ? range(nHeads) : chosen === "reset" ? [] : chosen }),
    });
    return { root, sync: (state, theme) => {
      root.hidden = state.view !== "lines";
      drawn = state.heads.length || state.head === MEAN ? state.heads : [state.head];
      inputs.forEach((input, head) => {
        input.checked = drawn.includes(head);
        const swatch = /** @type {HTMLElement} */ (input.nextElementSibling);
        styleSwatch(swatch, state.heads.length ? headStyle(theme, head) : { colour: theme.line, dashes: 0 });
      });
    } };
  };

  /** @type {number[]} */
  let layers = [];
  /** @returns {Control} */
  const layerToggles = () => {
    const { root, inputs } = makeToggles({
      legend: `${word}s`, name: word, count: nLayers, all: "all", reset: "one", chosen: () => layers, names: attention.layerNames,
      choose: (chosen) => choose({ layers: chosen === "all" ? [] : chosen === "reset" ? [lastLayer] : chosen }),
    });
    return { root, sync: (state) => {
      root.hidden = state.view !== "grid";
      layers = state.layers.length ? state.layers : range(nLayers);
      inputs.forEach((input, layer) => { input.checked = layers.includes(layer); });
    } };
  };

  const views = segments("view", "View", Object.keys(VIEW_NAMES).map((view) => [view, viewName(attention, /** @type {ViewName} */ (view))]));
  // Words have weights but no scores: the steps before the softmax need single tokens.
  const steps = attention.hasScores ? segments("step", "Step",
    Object.entries(STEPS).map(([step, { label }]) => [step, label]),
    (state, step) => state.joined && step !== "weights") : null;
  const sentences = attention.secondSentence === null ? null : segments("sentences", "Show",
    Object.entries(SENTENCES).map(([value, { label, name }]) => [value, label, name]));
  const sliders = [nLayers > 1 ? slider("layer", nLayers, attention.layerNames, word) : null,
    nHeads > 1 ? slider("head", nHeads, attention.headNames) : null];
  const options = [
    attention.hasMean
      ? checkbox("mean", "mean of heads", (state) => state.head === MEAN && !isComparison(state), (on) => ({ head: on ? MEAN : lastHead }))
      : null,
    attention.hasSubwords ? flag("joined", "join subwords") : null,
    attention.gold.length > 0 ? flag("gold", "gold alignment") : null,
    flag("stretch", "stretch colours"),
    paletteMenu(),
  ];
  const toggles = [nHeads > 1 ? headToggles() : null, nLayers > 1 ? layerToggles() : null];
  const roots = (/** @type {(Control | null)[]} */ controls) => controls.map((control) => control && control.root);
  return {
    root: make("div", { className: "ae-controls" }, ...roots([views, steps, sentences]),
      make("span", { className: "ae-sliders" }, ...roots(sliders)),
      make("span", { className: "ae-options" }, ...roots(options)), ...roots(toggles)),
    sync: (state, theme) => {
      if (state.head !== MEAN) lastHead = state.head;
      lastLayer = state.layer;
      for (const control of [views, steps, sentences, ...sliders, ...options, ...toggles]) control?.sync(state, theme);
    },
  };
}
