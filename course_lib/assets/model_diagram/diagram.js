// @ts-check
// The live model diagram: the parts, which are links to their lessons, the words at one step of
// decoding, and a way from step to step. Python has decided where everything stands.

import { keepKeys, make } from "../explorer/controls/dom.js";
import { LARGEST, WIDE_FROM } from "./constants.js";
import { drawLines, movePulse, writeShapes } from "./lines.js";
import { attentionText, headline, writtenText } from "./words.js";

/** @typedef {[x: number, y: number, width: number, height: number]} Box */
/** @typedef {{ top: [string, number][], attention: number[] }} Step */
/** @typedef {{ id: string, name: string, lesson: string, text: string, stack: string }} Part */
/** @typedef {import("./lines.js").Arrow} Arrow */

/**
 * @typedef {object} Layout
 * @property {number} width
 * @property {number} height
 * @property {Record<string, Box>} boxes
 * @property {Box[]} norms
 * @property {[number, number][]} rings
 * @property {Record<string, Box>} frames
 * @property {Box | null} panel
 * @property {Arrow[]} arrows
 */

/**
 * @typedef {object} Diagram
 * @property {string} title
 * @property {string} legend
 * @property {string[]} source
 * @property {string[]} target with the token that begins it
 * @property {number} shown the step that is shown first
 * @property {Step[]} steps
 * @property {Part[]} parts
 * @property {{ wide: Layout, narrow: Layout }} layouts
 */

// Under the name of these there is more in the box.
const TRAYS = ["source", "memory", "target", "prediction"];

/**
 * The elements of one part: its box, and in it the link.
 *
 * @param {Part} part
 * @param {HTMLAnchorElement} link the one that was there without a script: where the page has
 *   changed it so that it opens the lesson, it stays so
 * @param {string} described the id of the element with the part's text
 */
function buildPart(part, link, described) {
  const isTray = TRAYS.includes(part.id);
  link.className = "md-link";
  link.replaceChildren(
    make("span", { className: "md-name", textContent: part.name }),
    make("span", { className: "md-lesson", textContent: part.lesson, aria: { label: `, lesson ${part.lesson}` } }),
  );
  link.setAttribute("aria-describedby", described);
  const content = isTray ? make("div", { className: "md-content" }) : null;
  const box = make("div", { className: `md-box${isTray ? " md-tray" : ""}`, dataset: { part: part.id, stack: part.stack } },
    link, content);
  return { box, link, content };
}

/** @param {string[]} tokens @param {number[]} [weights] */
function chips(tokens, weights) {
  return make("ul", { className: "md-chips" }, ...tokens.map((token, i) => {
    const chip = make("li", { className: "md-chip" }, make("span", { textContent: token }));
    if (weights) {
      chip.prepend(make("i", { style: `width: ${100 * weights[i]}%` }));
      chip.title = `${token}: ${weights[i].toFixed(2)}`;
    }
    return chip;
  }));
}

/** @param {Step} step */
function bars({ top }) {
  return make("ol", { className: "md-bars" }, ...top.map(([word, probability], i) =>
    make("li", { className: i ? "" : "md-chosen" },
      make("span", { className: "md-word", textContent: word }),
      make("span", { className: "md-bar" }, make("i", { style: `width: ${100 * probability}%` })),
      make("span", { className: "md-number", textContent: probability.toFixed(3) }))));
}

/**
 * @param {HTMLElement} node
 * @param {Box} box
 */
function moveTo(node, [x, y, width, height]) {
  node.style.cssText = `left: ${x}em; top: ${y}em; width: ${width}em; height: ${height}em`;
}

/**
 * @param {HTMLElement} element is filled with the diagram
 * @param {Diagram} diagram
 * @param {string} style
 */
function startDiagram(element, diagram, style) {
  const { source, target, steps, parts, layouts } = diagram;
  let step = diagram.shown;
  /** @type {"wide" | "narrow" | ""} */
  let form = "";
  const name = element.dataset.live ?? "md";

  const links = new Map([...element.querySelectorAll("li[data-part] a")].map((link) =>
    [link.closest("li")?.dataset.part, /** @type {HTMLAnchorElement} */ (link)]));
  const built = parts.map((part) => ({
    ...part, ...buildPart(part, links.get(part.id) ?? make("a"), `${name}-${part.id}`),
  }));
  const byId = Object.fromEntries(built.map((part) => [part.id, part]));

  const slider = make("input", { type: "range", min: "0", max: String(steps.length - 1), className: "md-slider",
    aria: { label: "step of decoding" } });
  const back = make("button", { type: "button", textContent: "◀ Back" });
  const next = make("button", { type: "button", textContent: "Next ▶" });
  const title = make("div", { className: "md-title" });
  const lines = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  lines.setAttribute("aria-hidden", "true");
  const decor = make("div", { className: "md-decor", aria: { hidden: true } });
  const explanation = make("p", { className: "md-explanation" });
  const reading = make("p", { className: "md-reading" });
  const panel = make("div", { className: "md-panel" }, make("div", {}, reading, explanation));
  const legend = make("p", { className: "md-legend", textContent: diagram.legend });
  const stage = make("div", { className: "md-stage" }, lines, decor, ...built.map(({ box }) => box));
  const main = make("div", {}, stage, panel);
  const words = make("details", {}, make("summary", { textContent: "All parts in words" }),
    make("ul", { className: "md-words" }, ...parts.map((part) =>
      make("li", { id: `${name}-${part.id}` }, make("b", { textContent: `${part.name}: ` }), part.text))));
  const status = make("div", { className: "md-status", aria: { role: "status" } });
  const root = make("section", { className: "md", aria: { label: diagram.title } },
    make("div", { className: "md-top" }, title, make("div", { className: "md-controls" }, back, slider, next)),
    main, make("div", { className: "md-foot" }, legend, words), status);
  keepKeys(root);
  root.addEventListener("keydown", (event) => { if (event.target === slider) event.stopPropagation(); });

  /** @param {string | null} id */
  function explain(id) {
    const part = id === null ? null : byId[id];
    explanation.replaceChildren(...part
      ? [make("b", { textContent: part.id === "residual" ? "residual connection" : part.name }), `: ${part.text} `,
        make("span", { className: "md-soft", textContent: `Lesson ${part.lesson}.` })]
      : [make("span", { className: "md-soft", textContent:
        "Point at a part, or go to it with Tab, to see what it does. It is a link to the lesson that builds it." })]);
    for (const node of root.querySelectorAll("[data-part]"))
      node.classList.toggle("md-on", node instanceof HTMLElement && node.dataset.part === id);
  }

  function arrange() {
    const width = root.clientWidth - 26; // its padding and edges
    if (width < 1) return; // not in the page yet, or hidden: the observer calls again
    const wanted = width >= WIDE_FROM ? "wide" : "narrow";
    const layout = layouts[wanted];
    const scale = Math.min(LARGEST[wanted], width / layout.width);
    stage.style.fontSize = `${scale}px`;
    if (wanted === form) return;
    form = wanted;
    root.dataset.form = form;
    stage.style.width = `${layout.width}em`;
    stage.style.height = `${layout.height}em`;
    drawLines(lines, layout);
    for (const { id, box } of built) if (layout.boxes[id]) moveTo(box, layout.boxes[id]);
    const norms = layout.norms.map((box) => ({ box, id: "norm", text: "norm" }));
    const rings = layout.rings.map(([x, y]) => ({ box: /** @type {Box} */ ([x - 8, y - 8, 16, 16]), id: "residual", text: "+" }));
    decor.replaceChildren(...[...norms, ...rings].map(({ box, id, text }) => {
      const node = make("span", { className: `md-small${id === "residual" ? " md-ring" : ""}`, dataset: { part: id } },
        make("span", { textContent: text }));
      moveTo(node, box);
      return node;
    }));
    moveTo(byId.norm.box, layout.norms[0]);
    moveTo(byId.residual.box, rings[1].box); // the first adds positions
    (layout.panel ? stage : main).append(panel);
    panel.style.cssText = "";
    if (layout.panel) moveTo(panel, layout.panel);
    show(step, false);
  }

  /**
   * @param {number} wanted
   * @param {boolean} moved whether the reader asked for it
   */
  function show(wanted, moved) {
    const before = step;
    step = Math.max(0, Math.min(steps.length - 1, wanted));
    const now = steps[step], text = headline(diagram, step);
    title.textContent = text;
    slider.value = String(step);
    slider.setAttribute("aria-valuetext", `${step + 1} of ${steps.length}`);
    back.disabled = step === 0;
    next.disabled = step === steps.length - 1;
    byId.source.content?.replaceChildren(chips(source));
    byId.memory.content?.replaceChildren(chips(source, now.attention));
    byId.target.content?.replaceChildren(chips(target.slice(0, step + 1)));
    byId.prediction.content?.replaceChildren(bars(now));
    reading.textContent = attentionText(source, now);
    writeShapes(lines, step + 1);
    if (moved && before !== step) {
      status.textContent = `${text} ${writtenText(diagram, step)} ${reading.textContent}`;
      movePulse(lines, step === 0);
      if (step > before) byId.target.content?.querySelector("li:last-child")?.classList.add("md-new");
    }
    root.dataset.step = String(step); // set last: all of it is shown
  }

  slider.addEventListener("input", () => show(Number(slider.value), true));
  back.addEventListener("click", () => show(step - 1, true));
  next.addEventListener("click", () => show(step + 1, true));
  /** @param {Event} event */
  const partOf = (event) => event.target instanceof Element
    ? event.target.closest("[data-part]")?.getAttribute("data-part") ?? null : null;
  stage.addEventListener("pointerover", (event) => explain(partOf(event)));
  stage.addEventListener("pointerleave", () => explain(null));
  stage.addEventListener("focusin", (event) => explain(partOf(event)));
  stage.addEventListener("focusout", () => explain(null));

  element.replaceChildren(make("style", { textContent: style }), root);
  explain(null);
  arrange();
  new ResizeObserver(arrange).observe(root);
}

/**
 * In a page: replace what is in an element, the picture and the list of the parts, by the diagram.
 *
 * @param {HTMLElement} element
 * @param {{ diagram: Diagram, style: string }} source
 */
export async function mount(element, { diagram, style }) {
  startDiagram(element, diagram, style);
}
