// @ts-check
// The translator in small, for a page that has more to say: a sentence, its translation, and where each word looks.

import { make } from "../explorer/controls/dom.js";
import { rowOf } from "./transformer.js";
import { translate } from "./translate.js";
import { unpackModel } from "./weights.js";

/** @import { Translation } from "./translate.js" */

const PAUSE = 500; // milliseconds without a key, after which a sentence is translated

/** @param {string} id */
const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * Unpack the model and translate what the reader has typed, now and whenever it changes.
 *
 * @param {string} base64 the packed model
 */
async function start(base64) {
  const sentence = /** @type {HTMLInputElement} */ (element("front-sentence"));
  if (!("DecompressionStream" in self)) {
    element("front-note").textContent = "This browser is too old to unpack the model.";
    return;
  }
  const trained = await unpackModel(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)));
  let waiting = 0, last = "";

  function run() {
    clearTimeout(waiting);
    if (sentence.value.trim() === last) return;
    last = sentence.value.trim();
    try {
      show(translate(trained, last, 0));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      element("front-note").textContent = error.message;
    }
  }

  sentence.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(run, PAUSE);
  });
  element("front-door").addEventListener("submit", (event) => { event.preventDefault(); run(); });
  for (const button of document.querySelectorAll("#front-examples button"))
    button.addEventListener("click", () => { sentence.value = button.textContent ?? ""; run(); });
  run();
}

/** @param {Translation} of */
function show({ sourceWords, targetWords, unknown, attention, finished }) {
  const heads = attention.cross[attention.cross.length - 1];
  const source = sourceWords.map((word) => make("span", { textContent: word }));
  const words = finished ? targetWords.slice(0, -1) : targetWords; // without <eos>
  const target = words.map((word, step) => {
    const button = make("button", { type: "button", aria: { pressed: false } }, word);
    for (const event of ["click", "focus", "pointerenter"]) button.addEventListener(event, () => look(step));
    return button;
  });

  /** @param {number} step */
  function look(step) {
    const shares = source.map((_, key) =>
      heads.reduce((sum, weights) => sum + rowOf(weights, step)[key], 0) / heads.length);
    source.forEach((word, key) => word.style.setProperty("--share", shares[key].toFixed(3)));
    target.forEach((button, i) => button.setAttribute("aria-pressed", String(i === step)));
    const most = shares.indexOf(Math.max(...shares));
    element("front-look").replaceChildren("Before it writes ", make("b", { textContent: words[step] }),
      ", it attends most to ", make("b", { lang: "de", textContent: sourceWords[most] }),
      ` (${Math.round(100 * shares[most])} %, the mean of ${heads.length} heads).`);
  }

  element("front-source").replaceChildren(...source);
  element("front-target").replaceChildren(...target);
  element("front-note").textContent = unknown.length
    ? `It has never seen ${unknown.map((word) => `“${word}”`).join(", ")}: it knows the words of a small grammar.` : "";
  if (words.length) look(Math.min(2, words.length - 1));
  document.body.dataset.translated = String(1 + Number(document.body.dataset.translated ?? 0)); // set last
}

// The script with the model, which is loaded once everything else is shown, calls this.
Object.assign(self, { loadTranslator: start });
