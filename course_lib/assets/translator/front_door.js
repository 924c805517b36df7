// @ts-check
// The translator in small, for a page that has more to say: a text, its translation, and where each word looks.

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

const PAUSE = 500; // milliseconds without a key, after which a text is translated

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
  run();
}

/**
 * @param {TrainedModel} trained
 * @param {TranslatedSentence[]} sentences
 */
function show({ source, target }, sentences) {
  element("front-source").replaceChildren();
  element("front-target").replaceChildren();
  element("front-look").replaceChildren();
  /** @type {(() => void)[]} */
  const looks = []; // of each word, in order
  for (const { source: text, translation } of sentences) {
    if (!translation) {
      for (const id of ["front-source", "front-target"]) element(id).append(make("i", { textContent: text.trim() }));
      continue;
    }
    const { cross } = translation.attention, heads = cross[cross.length - 1];
    const read = wordsOf(source, translation.source);
    const spans = read.map((word) => make("span", { textContent: word.text.trim() }));
    element("front-source").append(...spans);
    for (const word of writtenWords(target, translation)) {
      const button = make("button", { type: "button", aria: { pressed: false } }, word.text.trim());
      markUnsure(button, word);
      const look = () => {
        const shares = read.map((from) => mean(heads.map((weights) => shareOf(weights, word, from))));
        for (const span of element("front-source").children) span.removeAttribute("style");
        spans.forEach((span, i) => span.style.setProperty("--share", shares[i].toFixed(3)));
        for (const other of element("front-target").querySelectorAll("button"))
          other.setAttribute("aria-pressed", String(other === button));
        const most = shares.indexOf(Math.max(...shares));
        element("front-look").replaceChildren("Before it writes ", make("b", { textContent: word.text.trim() }),
          ", it attends most to ", make("b", { lang: "de", textContent: read[most].text.trim() }),
          ` (${Math.round(100 * shares[most])} %, the mean of ${heads.length} heads).`);
      };
      for (const event of ["click", "focus", "pointerenter"]) button.addEventListener(event, look);
      looks.push(look);
      element("front-target").append(button);
    }
  }
  const unknown = sentences.flatMap(({ translation }) => translation?.unknown ?? []);
  element("front-note").textContent = unknown.length
    ? `It has never seen ${unknown.map((word) => `“${word}”`).join(", ")}: it knows the words of a small grammar.`
    : sentences.flatMap(({ remarks }) => Object.values(remarks)).join(" ");
  looks[Math.min(2, looks.length - 1)]?.();
  document.body.dataset.translated = String(1 + Number(document.body.dataset.translated ?? 0)); // set last
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
