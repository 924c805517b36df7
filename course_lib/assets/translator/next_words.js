// @ts-check
// The probabilities of the next word at one step, as bars.

import { make } from "../explorer/controls/dom.js";
import { TOP_WORDS } from "./sizes.js";
import { largestIndices, softmax } from "./transformer.js";

/**
 * A probability in words: a softmax gives neither 0 nor 1, though rounding may.
 *
 * @param {number} share
 */
export function percent(share) {
  if (share < 0.0005) return "< 0.1 %";
  if (share >= 0.9995) return "> 99.9 %";
  return `${(100 * share).toFixed(1)} %`;
}

/**
 * A row for each of the most probable words, one for the generated word if it is not among them, and one for
 * all others together. The temperature divides the logits before the softmax (lesson 13).
 *
 * @param {HTMLElement} list is filled
 * @param {{ logits: Float32Array, labels: string[], generated: number, temperature: number }} step
 */
export function showNextWords(list, { logits, labels, generated, temperature }) {
  const probabilities = softmax(logits.map((logit) => logit / temperature));
  const shown = largestIndices(logits, TOP_WORDS);
  if (!shown.includes(generated)) shown.push(generated);
  const rest = probabilities.reduce((total, share, word) => (shown.includes(word) ? total : total + share), 0);
  const rows = shown.map((word) => barRow(labels[word], probabilities[word], word === generated));
  list.replaceChildren(...rows, barRow(`${labels.length - shown.length} others`, rest, false));
}

/** @param {string} word @param {number} share @param {boolean} generated */
function barRow(word, share, generated) {
  const bar = make("i");
  bar.style.width = `${100 * share}%`;
  return make("li", { className: generated ? "generated" : "" },
    make("span", { className: "word", textContent: word }),
    make("span", { className: "bar", aria: { hidden: true } }, bar),
    make("span", { className: "share", textContent: percent(share) }),
    generated ? make("span", { className: "hint", textContent: "generated" }) : null);
}
