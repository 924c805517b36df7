// @ts-check
// The controls above the picture.

import { MEAN, PALETTES, STEPS, VIEW_NAMES } from "./constants.js";
import { make } from "./dom.js";

/** @import { PaletteName, State } from "./constants.js" */
/** @import { Attention } from "./data.js" */

/**
 * @typedef {object} Controls
 * @property {HTMLElement} root
 * @property {HTMLElement} buttons
 * @property {(state: State) => void} sync makes the controls show a state
 */

/** @typedef {{ root: HTMLElement, sync: (state: State) => void }} Control */

let instances = 0; // radio buttons with the same name belong together, across the whole page

/**
 * @param {Attention} attention
 * @param {object} actions
 * @param {(patch: Partial<State>) => void} actions.choose
 * @param {() => void} actions.savePng
 * @param {() => void} actions.saveHtml
 * @returns {Controls}
 */
export function makeControls(attention, { choose, savePng, saveHtml }) {
  const group = ++instances, { nLayers, nHeads } = attention;
  let lastHead = 0; // shown again when "mean of heads" is unticked

  /**
   * @param {"view" | "step"} name
   * @param {string} legend
   * @param {[value: string, label: string][]} options
   * @param {(state: State, value: string) => boolean} disabled
   * @returns {Control}
   */
  const segments = (name, legend, options, disabled = () => false) => {
    const inputs = options.map(([value]) => make("input", { type: "radio", name: `ae-${name}-${group}`, value }));
    for (const input of inputs) input.addEventListener("change", () => choose({ [name]: input.value }));
    const root = make("fieldset", { className: "ae-segments" }, make("legend", { textContent: legend }),
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
   * @returns {Control}
   */
  const slider = (name, count) => {
    const input = make("input", { type: "range", min: 0, max: count - 1, step: 1, className: `ae-${name}` });
    const output = make("output", { className: "ae-number" });
    input.addEventListener("input", () => choose({ [name]: +input.value }));
    const root = make("label", { className: "ae-slider" }, make("span", { textContent: name }), input, output);
    return { root, sync: (state) => {
      const isMean = state[name] === MEAN;
      input.value = String(isMean ? lastHead : state[name]);
      output.value = isMean ? "mean" : String(state[name]);
      input.setAttribute("aria-valuetext", `${name} ${output.value}`);
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

  /** @param {string} text @param {() => void} click */
  const button = (text, click) => {
    const node = make("button", { type: "button", textContent: text });
    node.addEventListener("click", click);
    return node;
  };

  const views = segments("view", "View", Object.entries(VIEW_NAMES));
  // Words have weights but no scores: the steps before the softmax need single tokens.
  const steps = attention.scores && segments("step", "Step",
    Object.entries(STEPS).map(([step, { label }]) => [step, label]),
    (state, step) => state.joined && step !== "weights");
  const sliders = [nLayers > 1 ? slider("layer", nLayers) : null, nHeads > 1 ? slider("head", nHeads) : null];
  const rest = [
    nHeads > 1
      ? checkbox("mean", "mean of heads", (state) => state.head === MEAN, (on) => ({ head: on ? MEAN : lastHead }))
      : null,
    attention.hasSubwords ? flag("joined", "join subwords") : null,
    attention.gold.length > 0 ? flag("gold", "gold alignment") : null,
    flag("stretch", "stretch colours"),
    paletteMenu(),
  ];
  const roots = (/** @type {(Control | null)[]} */ controls) => controls.map((control) => control && control.root);
  return {
    root: make("div", { className: "ae-controls" }, ...roots([views, steps]),
      make("span", { className: "ae-sliders" }, ...roots(sliders)), ...roots(rest)),
    buttons: make("span", { className: "ae-buttons" }, button("Save PNG", savePng), button("Save HTML", saveHtml)),
    sync: (state) => {
      if (state.head !== MEAN) lastHead = state.head;
      for (const control of [views, steps, ...sliders, ...rest]) control?.sync(state);
    },
  };
}
