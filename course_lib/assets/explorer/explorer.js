// @ts-check
// The attention explorer: a state, what is drawn of it, and what the pointer does.

import { THEMES, onThemeChange, themeAround } from "./drawing/colour.js";
import { fillCell, openedText } from "./controls/cell.js";
import { makeControls } from "./controls/controls.js";
import { focusText, rowText } from "./describe.js";
import { keepKeys } from "./controls/dom.js";
import { buildElements, fillHeading, updateTable } from "./controls/elements.js";
import { listenToKeys, scrollToCell } from "./controls/keys.js";
import { fillLegend } from "./controls/legend.js";
import { fillPanel } from "./controls/panel.js";
import { composePng } from "./drawing/png.js";
import { download, fileName, standalonePage } from "./save.js";
import { chosenText, sceneMaker, stageLabel, titleOf } from "./scene.js";
import { makeStage } from "./drawing/stage.js";
import { stateAfter, validState } from "./state.js";
import { makeTabs } from "./controls/tabs.js";
import { unpack } from "./data/unpack.js";
import { VIEWS } from "./drawing/views.js";

/** @import { Model } from "../anywidget.js" */
/** @import { ThemeName } from "./drawing/colour.js" */
/** @import { State } from "./constants.js" */
/** @import { Attention } from "./data/data.js" */
/** @import { Focus, Scene } from "./scene.js" */

/**
 * What an explorer starts with.
 *
 * @typedef {object} Start
 * @property {Attention[]} attentions a tab for each
 * @property {Uint8Array} packed the attention as Python packed it, for saving
 * @property {State} state
 * @property {string} module the script, for saving
 * @property {string} style
 * @property {(state: State) => void} changed is called when the reader has chosen something
 */

/**
 * @param {HTMLElement} element is filled with the explorer
 * @param {Start} start
 */
function startExplorer(element, { attentions, packed, state: first, module, style, changed }) {
  const [{ title }] = attentions;
  let state = validState(first, attentions);
  /** @type {Focus | null} */
  let focus = null;
  /** @type {ThemeName} */
  let theme = themeAround(element);
  const parts = attentions.map((attention) => ({
    kind: attention.kind, sceneFor: sceneMaker(attention, attentions.length > 1),
    controls: makeControls(attention, { choose, point }),
  }));
  const part = () => parts.find(({ kind }) => kind === state.kind) ?? parts[0];
  const scene = () => part().sceneFor(state, theme);
  const elements = buildElements(title, parts.map(({ controls }) => controls.root), { savePng, saveHtml });
  const { heading, stage, scroller, panel, cell, legend, details, status, body, root } = elements;
  const tabs = attentions.length > 1 ? makeTabs(attentions.map(({ kind }) => kind), body, choose) : null;
  const canvases = makeStage(elements);
  /** @param {string} text */
  const announce = (text) => { status.textContent = text; };

  function draw() {
    const now = scene();
    for (const { kind, controls } of parts) controls.root.hidden = kind !== state.kind;
    if (!canvases.draw(now, focus)) return; // the observer calls again
    showFocus(now);
    fillHeading(heading, title, titleOf(now));
    stage.setAttribute("aria-label", stageLabel(now));
    fillLegend(legend, now);
    fillCell(cell, now);
    keepKeys(cell);
    part().controls.sync(state, now.theme);
    tabs?.sync(state);
    updateTable(elements, now);
    root.dataset.geometry = JSON.stringify(canvases.layout());
    root.dataset.state = JSON.stringify(state); // set last: all of it is drawn
  }

  /** @param {Scene} now */
  function showFocus(now) {
    fillPanel(panel, now, focus, () => choose({ query: null }));
    root.dataset.focus = focus ? JSON.stringify(focus) : "";
  }

  /** @param {Focus | null} next */
  function setFocus(next) {
    focus = next;
    const now = scene();
    canvases.drawOver(now, focus);
    showFocus(now);
  }

  /** @param {number | null} head one of several, shown alone */
  function point(head) {
    setFocus(head !== null && state.heads.includes(head) ? { layer: state.layer, head } : null);
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
    const next = stateAfter(state, patch, attentions);
    if (JSON.stringify(next) === JSON.stringify(state)) {
      part().controls.sync(state, THEMES[theme]); // a control that asked for something impossible goes back
      return false;
    }
    // Another view, tab or sentence has no such cell, and the rows of words are not those of tokens.
    if (state.view !== next.view || state.joined !== next.joined || state.kind !== next.kind ||
      state.sentences !== next.sentences) focus = null;
    state = next;
    draw();
    return true;
  }

  /** @param {Partial<State>} patch */
  function choose(patch) {
    if (!show(patch)) return;
    changed({ ...state });
    const now = scene(), { matrix, axes, locked } = now;
    announce(locked !== null && "query" in patch
      ? `Locked. ${rowText(matrix, axes, locked)} ${openedText(now)}`.trim()
      : chosenText(now));
  }

  /** Lock a row, or a cell in it; release what is locked already. @param {number} query @param {number} [key] */
  function lock(query, key) {
    const { axes, locked, opened } = scene(), shown = state.view === "heatmap" ? opened : null; // lines have no cells
    if (query === locked && (key ?? null) === shown) choose({ query: null });
    else choose({
      query: axes.queries[query].members[0], key: key === undefined ? null : axes.keys[key].members[0],
    });
  }

  /** @param {{ layer: number, head: number }} head */
  const open = ({ layer, head }) => choose({ layer, head, view: "heatmap" });

  /** @param {Focus | null} next */
  function moveTo(next) {
    setFocus(next);
    if (!next) return;
    announce(focusText(scene(), next));
    if (state.view === "heatmap" && !("layer" in next))
      scrollToCell(scroller, canvases.layout(), next.query ?? 0, next.key ?? 0);
  }

  /** @param {MouseEvent} event @returns {Focus | null} */
  const focusAt = (event) => {
    const box = stage.getBoundingClientRect();
    return VIEWS[state.view].hit(canvases.layout(), event.clientX - box.left, event.clientY - box.top);
  };
  stage.addEventListener("pointermove", (event) => {
    const found = focusAt(event), clickable = found && ("layer" in found || found.query !== undefined);
    stage.style.cursor = clickable ? "pointer" : "default";
    if (JSON.stringify(found) !== JSON.stringify(focus)) setFocus(found);
  });
  stage.addEventListener("pointerleave", () => setFocus(null));
  stage.addEventListener("click", (event) => {
    focus = focusAt(event);
    if (focus && "layer" in focus) open(focus);
    else if (focus?.query !== undefined) lock(focus.query, focus.key);
    else setFocus(focus);
  });
  listenToKeys(stage, {
    scene, focus: () => focus, perRow: () => canvases.layout().perRow, moveTo, choose, lock, open,
  });

  async function savePng() {
    const now = scene(), name = titleOf(now);
    download(await composePng(VIEWS[state.view], canvases.layout(), name, now), `${fileName(name)}.png`);
    announce("The picture is saved.");
  }

  function saveHtml() {
    const text = standalonePage({ module, style, data: packed, state, title });
    download(new Blob([text], { type: "text/html" }), `${fileName(title)}.html`);
    announce("The explorer is saved as an HTML file.");
  }

  root.dataset.theme = theme;
  if (tabs) body.before(tabs.root);
  keepKeys(root);
  details.addEventListener("toggle", () => updateTable(elements, scene()));
  element.replaceChildren(Object.assign(document.createElement("style"), { textContent: style }), root);
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
  const attentions = await unpack(data);
  return startExplorer(element, { attentions, packed: data, state, module, style, changed: () => {} });
}

// In a live notebook: anywidget calls `render`, and keeps the state here and in Python equal.
export default {
  /** @param {{ model: Model, el: HTMLElement }} given */
  async render({ model, el }) {
    const view = model.get("data"), packed = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    const explorer = startExplorer(el, {
      attentions: await unpack(packed), packed, state: model.get("state"),
      module: model.get("_esm"), style: model.get("_css"),
      changed: (state) => { model.set("state", state); model.save_changes(); },
    });
    const follow = () => { explorer.show(model.get("state")); };
    model.on("change:state", follow);
    return () => { model.off("change:state", follow); explorer.stop(); };
  },
};
