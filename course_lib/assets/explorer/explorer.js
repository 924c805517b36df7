// @ts-check
// The attention explorer: a state, three canvases on top of each other, and what the pointer does.

import { clearCanvas, contextOf, resizeCanvas } from "./canvas.js";
import { onThemeChange, themeAround } from "./colour.js";
import { makeControls } from "./controls.js";
import { unpack } from "./data.js";
import { focusText, rowText, summaryText } from "./describe.js";
import { keepKeys, make } from "./dom.js";
import { listenToKeys, scrollToCell } from "./keys.js";
import { fillLegend, fillPanel, fillTable } from "./panel.js";
import { composePng, download, fileName, standalonePage } from "./save.js";
import { sceneMaker, stageLabel, titleOf, validState } from "./scene.js";
import { VIEWS, isOverview } from "./views.js";

/** @import { Model } from "../anywidget.js" */
/** @import { ThemeName } from "./colour.js" */
/** @import { State } from "./constants.js" */
/** @import { Controls } from "./controls.js" */
/** @import { Attention } from "./data.js" */
/** @import { Focus, Scene } from "./scene.js" */

/**
 * What an explorer starts with.
 *
 * @typedef {object} Start
 * @property {Attention} attention
 * @property {Uint8Array} packed the attention as Python packed it, for saving
 * @property {State} state
 * @property {string} module the script, for saving
 * @property {string} style
 * @property {(state: State) => void} changed is called when the reader has chosen something
 */

/**
 * @param {Attention} attention
 * @param {Controls} controls
 */
function buildElements(attention, controls) {
  /** @param {string} name */
  const canvas = (name) => make("canvas", { className: `ae-${name}`, aria: { hidden: true } });
  const canvases = { frame: canvas("frame"), cells: canvas("cells"), over: canvas("over") };
  const title = make("div", { className: "ae-title" });
  const stage = make("div", { className: "ae-stage", tabIndex: 0, aria: { role: "application" } },
    ...Object.values(canvases));
  const scroller = make("div", { className: "ae-scroll" }, stage);
  const panel = make("div", { className: "ae-panel" });
  const legend = make("div", { className: "ae-legend" });
  const table = make("table");
  const details = make("details", {}, make("summary", { textContent: "The same as a table" }), table);
  const status = make("div", { className: "ae-status", aria: { role: "status" } });
  const root = make("section", { className: "ae", aria: { label: attention.title } },
    make("div", { className: "ae-top" }, title, controls.buttons),
    controls.root,
    make("div", { className: "ae-main" }, scroller, panel),
    legend, details, status);
  keepKeys(root);
  return { canvases, title, stage, scroller, panel, legend, table, details, status, root };
}

/**
 * @param {HTMLElement} element is filled with the explorer
 * @param {Start} start
 */
function startExplorer(element, { attention, packed, state: first, module, style, changed }) {
  const state = validState(first, attention), sceneFor = sceneMaker(attention);
  /** @type {Focus | null} */
  let focus = null;
  /** @type {any} */
  let layout = null; // whatever the view's own `layout` returned
  /** @type {ThemeName} */
  let theme = themeAround(element);
  /** @type {{ frame?: string, cells?: string }} */
  let drawn = {};
  const scene = () => sceneFor(state, theme);
  const controls = makeControls(attention, { choose, savePng, saveHtml });
  const elements = buildElements(attention, controls);
  const { canvases, title, stage, scroller, panel, legend, table, details, status, root } = elements;
  /** @param {string} text */
  const announce = (text) => { status.textContent = text; };

  // Three canvases, each redrawn only when something that it shows has changed.
  function draw() {
    const width = Math.floor(scroller.clientWidth) - 6; // its padding
    if (width < 1) return; // not in the page yet, or hidden: the observer calls again
    const now = scene(), view = VIEWS[state.view];
    const frame = [state.view, width, state.joined, theme, self.devicePixelRatio].join();
    if (drawn.frame !== frame) {
      layout = view.layout(now, width);
      stage.style.width = `${layout.width}px`;
      stage.style.height = `${layout.height}px`;
      for (const canvas of Object.values(canvases)) resizeCanvas(canvas, layout.width, layout.height);
      view.frame(contextOf(canvases.frame), now, layout);
      drawn = { frame };
    }
    const chosen = state.view === "grid" ? "" : `${state.layer} ${state.head}`;
    const cells = [chosen, state.step, state.palette, state.stretch, state.gold].join();
    if (drawn.cells !== cells) {
      const ctx = contextOf(canvases.cells);
      clearCanvas(ctx);
      view.cells(ctx, now, layout);
      drawn.cells = cells;
    }
    drawOver(now);
    title.textContent = titleOf(now);
    stage.setAttribute("aria-label", stageLabel(now));
    fillLegend(legend, now);
    controls.sync(state);
    if (details.open) fillTable(table, now);
    root.dataset.geometry = JSON.stringify(layout);
    root.dataset.state = JSON.stringify(state); // set last: all of it is drawn
  }

  /** @param {Scene} now */
  function drawOver(now) {
    const ctx = contextOf(canvases.over);
    clearCanvas(ctx);
    VIEWS[state.view].over(ctx, now, layout, focus);
    fillPanel(panel, now, focus, () => choose({ query: null }));
    root.dataset.focus = focus ? JSON.stringify(focus) : "";
  }

  function updateTheme() {
    const around = themeAround(element);
    if (around === theme) return;
    theme = around;
    root.dataset.theme = theme;
    draw();
  }

  /**
   * @param {Partial<State>} patch
   * @returns {boolean} whether anything changed
   */
  function show(patch) {
    const before = JSON.stringify(state), { view, joined } = state;
    Object.assign(state, validState({ ...state, ...patch }, attention));
    if (JSON.stringify(state) === before) {
      controls.sync(state); // a control that asked for something impossible goes back
      return false;
    }
    // Another view has no such cell, and the rows of words are not those of tokens.
    if (state.view !== view || state.joined !== joined) focus = null;
    draw();
    return true;
  }

  /** @param {Partial<State>} patch */
  function choose(patch) {
    if (!show(patch)) return;
    changed({ ...state });
    const { matrix, axes, locked, summary } = scene();
    announce(locked !== null && "query" in patch ? `Locked. ${rowText(matrix, axes, locked)}`
      : `${title.textContent}: ${summaryText(summary(state.layer, state.head), matrix.columns)}`);
  }

  /** @param {number} query */
  function lock(query) {
    const tokens = scene().axes.queries[query].members;
    choose({ query: state.query !== null && tokens.includes(state.query) ? null : tokens[0] });
  }

  /** @param {{ layer: number, head: number }} head */
  const open = ({ layer, head }) => choose({ layer, head, view: "heatmap" });

  /** @param {Focus | null} next */
  function moveTo(next) {
    focus = next;
    const now = scene();
    drawOver(now);
    if (!focus) return;
    announce(focusText(now, focus));
    if (state.view === "heatmap" && focus.query !== undefined && focus.key !== undefined)
      scrollToCell(scroller, layout, focus.query, focus.key);
  }

  /** @param {MouseEvent} event @returns {Focus | null} */
  const focusAt = (event) => {
    const box = stage.getBoundingClientRect();
    return VIEWS[state.view].hit(layout, event.clientX - box.left, event.clientY - box.top);
  };
  stage.addEventListener("pointermove", (event) => {
    const found = focusAt(event);
    stage.style.cursor = found ? "pointer" : "default";
    if (JSON.stringify(found) === JSON.stringify(focus)) return;
    focus = found;
    drawOver(scene());
  });
  stage.addEventListener("pointerleave", () => { focus = null; drawOver(scene()); });
  stage.addEventListener("click", (event) => {
    focus = focusAt(event);
    if (focus && "layer" in focus) open(focus);
    else if (focus?.query !== undefined) lock(focus.query);
    else drawOver(scene());
  });
  listenToKeys(stage, { scene, focus: () => focus, perRow: () => layout.perRow, moveTo, choose, lock, open });

  async function savePng() {
    const name = title.textContent ?? "";
    download(await composePng(Object.values(canvases), name, scene()), `${fileName(name)}.png`);
    announce("The picture is saved.");
  }

  function saveHtml() {
    const text = standalonePage({ module, style, data: packed, state, title: attention.title });
    download(new Blob([text], { type: "text/html" }), `${fileName(attention.title)}.html`);
    announce("The explorer is saved as an HTML file.");
  }

  root.dataset.theme = theme;
  details.addEventListener("toggle", () => { if (details.open) fillTable(table, scene()); });
  element.replaceChildren(make("style", { textContent: style }), root);
  draw();
  const sizes = new ResizeObserver(draw);
  sizes.observe(scroller);
  const unwatch = onThemeChange(updateTheme);
  return { show, stop: () => { sizes.disconnect(); unwatch(); } };
}

/**
 * In a page: replace what is in an element, such as a picture, by the explorer.
 *
 * @param {HTMLElement} element
 * @param {{ module: string, style: string, state: State, data: Uint8Array<ArrayBuffer> }} source
 */
export async function mount(element, { module, style, state, data }) {
  const attention = await unpack(data);
  return startExplorer(element, { attention, packed: data, state, module, style, changed: () => {} });
}

// In a live notebook: anywidget calls `render`, and keeps the state here and in Python equal.
export default {
  /** @param {{ model: Model, el: HTMLElement }} given */
  async render({ model, el }) {
    const view = model.get("data"), packed = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    const explorer = startExplorer(el, {
      attention: await unpack(packed), packed, state: model.get("state"),
      module: model.get("_esm"), style: model.get("_css"),
      changed: (state) => { model.set("state", state); model.save_changes(); },
    });
    const follow = () => { explorer.show(model.get("state")); };
    model.on("change:state", follow);
    return () => { model.off("change:state", follow); explorer.stop(); };
  },
};
