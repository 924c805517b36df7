// @ts-check
// The translator in small, for a page that has more to say: a text, its translation, and lines from each English word
// to the German words that it attends to.

import { make } from "../explorer/controls/dom.js";
import { translateFreeText } from "./free_text.js";
import { rowOf } from "./transformer.js";
import { wordsOf } from "./translate.js";
import { markUnsure, writtenWords } from "./translation_view.js";
import { unpackText } from "./weights.js";

/** @import { TranslatedSentence } from "./free_text.js" */
/** @import { Matrix } from "./transformer.js" */
/** @import { Word } from "./translate.js" */
/** @import { TrainedModel } from "./weights.js" */

/**
 * A word of the translation on the page.
 *
 * @typedef {object} Written
 * @property {HTMLElement} button
 * @property {HTMLElement[]} from the German words of its sentence
 * @property {number[]} shares of its attention that they have
 * @property {number} heads whose mean they are
 */

const PAUSE = 500; // milliseconds without a key, after which a text is translated
const BEAT = 420; // and for which a word is the last one while the translation is written
const LEAST = 0.05; // the smallest share with a line, as in course_lib/viz/drawings
const WIDEST = 11; // pixels, the line of a whole

/** @param {string} id */
const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * Unpack the model and translate what the reader has typed, now and whenever it changes.
 *
 * @param {string} base64 the packed model
 */
async function start(base64) {
  const typed = /** @type {HTMLInputElement} */ (element("front-sentence"));
  if (!("DecompressionStream" in self)) {
    element("front-note").textContent = "This browser is too old to unpack the model.";
    return;
  }
  const trained = await unpackText(base64);
  let waiting = 0, last = "";

  function run() {
    clearTimeout(waiting);
    if (typed.value.trim() === last) return;
    last = typed.value.trim();
    try {
      show(trained, [...translateFreeText(trained, last, 0)]);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      arrange([], []);
      element("front-look").textContent = "";
      element("front-note").textContent = error.message;
    }
  }

  typed.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(run, PAUSE);
  });
  element("front-door").addEventListener("submit", (event) => { event.preventDefault(); run(); });
  for (const button of document.querySelectorAll("#front-examples button"))
    button.addEventListener("click", () => { typed.value = button.textContent ?? ""; run(); });
  new ResizeObserver(() => draw()).observe(element("front-map"));
  run();
}

/** @type {Written[]} */
let written = [];
let lit = 0, writing = 0; // the word whose lines are bright, and the timer while the translation is written

/**
 * @param {TrainedModel} trained
 * @param {TranslatedSentence[]} sentences
 */
function show({ source, target }, sentences) {
  /** @type {HTMLElement[]} */
  const german = [], english = [];
  written = [];
  for (const { source: text, translation } of sentences) {
    if (!translation) {
      for (const column of [german, english]) column.push(make("i", { textContent: text.trim() }));
      continue;
    }
    const { cross } = translation.attention, heads = cross[cross.length - 1];
    const read = wordsOf(source, translation.source);
    const from = read.map((word) => make("span", { textContent: word.text.trim() }));
    german.push(...from);
    for (const word of writtenWords(target, translation)) {
      const button = make("button", { type: "button", aria: { pressed: false } }, word.text.trim());
      markUnsure(button, word);
      const at = written.length;
      for (const event of ["click", "focus", "pointerenter"])
        button.addEventListener(event, () => { hurry(); look(at); });
      const shares = read.map((each) => mean(heads.map((weights) => shareOf(weights, word, each))));
      written.push({ button, from, shares, heads: heads.length });
      english.push(button);
    }
  }
  arrange(german, english);
  const unknown = sentences.flatMap(({ translation }) => translation?.unknown ?? []);
  const remarks = sentences.flatMap(({ remarks }) => Object.values(remarks));
  if (unknown.length) remarks.unshift(`It has never seen ${unknown.map((word) => `“${word}”`).join(", ")}.`);
  element("front-note").textContent = remarks.join(" ");
  element("front-look").replaceChildren();
  write();
  document.body.dataset.translated = String(1 + Number(document.body.dataset.translated ?? 0)); // set last
}

/** Put words into the two columns. @param {HTMLElement[]} german @param {HTMLElement[]} english */
function arrange(german, english) {
  clearInterval(writing);
  for (const [id, words] of /** @type {const} */ ([["front-source", german], ["front-target", english]]))
    element(id).replaceChildren(...words.map((word) => make("li", {}, word)));
  element("front-map").classList.toggle("long", Math.max(german.length, english.length) > 10);
  if (!english.length) written = [];
  draw();
}

/** The words come one by one, as the model writes them, unless the reader wants nothing to move. */
function write() {
  const last = written.reduce((found, { button }, i) => (/[\p{L}\p{N}]/u.test(button.textContent ?? "") ? i : found), 0);
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return look(last);
  for (const { button } of written) button.classList.add("later");
  let next = 0;
  const beat = () => {
    if (next === written.length) {
      hurry();
      return look(last);
    }
    written[next].button.classList.remove("later");
    look(next++);
  };
  beat();
  writing = setInterval(beat, BEAT);
}

/** Show all words. */
function hurry() {
  clearInterval(writing);
  for (const { button } of written) button.classList.remove("later");
}

/** Show where a word of the translation looks. @param {number} at */
function look(at) {
  if (!written[at]) return;
  const { button, from, shares, heads } = written[lit = at], most = shares.indexOf(Math.max(...shares));
  for (const [i, other] of written.entries()) other.button.setAttribute("aria-pressed", String(i === at));
  for (const word of element("front-source").querySelectorAll(".most")) word.classList.remove("most");
  from[most].classList.add("most");
  element("front-look").replaceChildren("Before it writes ", make("b", { textContent: button.textContent }),
    ", it attends most to ", make("b", { lang: "de", textContent: from[most].textContent }),
    ` (${Math.round(100 * shares[most])} %, the mean of ${heads} heads).`);
  draw();
}

/** Draw the lines between the columns; those of the chosen word last. */
function draw() {
  const map = element("front-map"), lines = element("front-lines"), { left, top } = map.getBoundingClientRect();
  /** @type {{ strong: boolean, path: SVGPathElement }[]} */
  const paths = [];
  for (const [i, { button, from, shares }] of written.entries()) {
    if (button.classList.contains("later")) continue;
    const to = button.getBoundingClientRect(), most = shares.indexOf(Math.max(...shares));
    for (const [j, share] of shares.entries()) {
      if (share < LEAST) continue;
      const start = from[j].getBoundingClientRect();
      const [x, y, u, v] = [start.right - left, (start.top + start.bottom) / 2 - top, to.left - left,
        (to.top + to.bottom) / 2 - top];
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      path.setAttribute("d", `M${x} ${y}C${(x + u) / 2} ${y} ${(x + u) / 2} ${v} ${u} ${v}`);
      path.setAttribute("stroke-width", String(Math.max(1, WIDEST * share)));
      path.setAttribute("class", i !== lit ? "faint" : j === most ? "most" : "more");
      paths.push({ strong: i === lit, path });
    }
  }
  paths.sort((a, b) => Number(a.strong) - Number(b.strong));
  lines.replaceChildren(...paths.map(({ path }) => path));
}

/** @param {number[]} values */
const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

/**
 * How much of its attention a word gives to a word of the source: the mean of its steps.
 *
 * @param {Matrix} weights of a head
 * @param {Word} word
 * @param {Word} from
 */
function shareOf(weights, word, from) {
  const rows = Array.from({ length: word.end - word.start }, (_, i) => rowOf(weights, word.start + i));
  return mean(rows.map((row) => row.slice(from.start, from.end).reduce((a, b) => a + b, 0)));
}

// The script with the model, which is loaded once everything else is shown, calls this.
Object.assign(self, { loadTranslator: start });
