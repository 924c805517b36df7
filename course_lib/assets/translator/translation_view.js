// @ts-check
// The translation of a text: its sentences, one of which is looked into, with the words of which the model is unsure marked.

import { make } from "../explorer/controls/dom.js";
import { percent } from "./next_words.js";
import { UNSURE } from "./sizes.js";
import { wordsOf } from "./translate.js";

/** @import { TranslatedSentence } from "./free_text.js" */
/** @import { Translation, Word } from "./translate.js" */
/** @import { Tokenizer } from "./weights.js" */

/** @typedef {Word & { probability: number }} WrittenWord */

/**
 * The words of a translation, without the mark that was added to its sentence, and the probability that the model
 * gave each: the product of its tokens'.
 *
 * @param {Tokenizer} tokenizer of the translation
 * @param {Translation} of
 * @returns {WrittenWord[]}
 */
export function writtenWords(tokenizer, { target, probabilities, text }) {
  let left = text.length;
  return wordsOf(tokenizer, target).map((word) => {
    const shown = word.text.slice(0, left);
    left -= shown.length;
    const probability = probabilities.slice(word.start, word.end).reduce((a, b) => a * b, 1);
    return { ...word, text: shown, probability };
  }).filter(({ text }) => text);
}

/** Mark a word of which the model is unsure. @param {HTMLElement} node @param {WrittenWord} word */
export function markUnsure(node, { text, probability }) {
  if (probability >= UNSURE || !/[\p{L}\p{N}]/u.test(text)) return;
  node.classList.add("unsure");
  node.title = `The model gives this word ${percent(probability)}.`;
}

/** A word as it is shown, after the space before it. @param {WrittenWord} word */
function wordNodes(word) {
  const written = word.text.trimStart(), node = make("span", { textContent: written, dataset: { step: word.start } });
  markUnsure(node, word);
  return [word.text.slice(0, word.text.length - written.length), node];
}

/**
 * @param {HTMLElement} root
 * @param {Tokenizer} tokenizer of the translations
 * @param {(sentence: number, step?: number) => void} choose is called with the sentence, and the word, that was chosen
 */
export function makeTranslationView(root, tokenizer, choose) {
  /** @type {Map<number, HTMLElement>} */
  const nodes = new Map(); // of the sentences that are translated

  /** @param {TranslatedSentence} sentence @param {number} number */
  function add({ source, translation }, number) {
    const core = source.trim(), start = source.indexOf(core);
    const node = translation
      ? make("span", { className: "sentence" }, ...writtenWords(tokenizer, translation).flatMap(wordNodes))
      : make("span", { className: "untranslated", lang: "", textContent: core });
    root.append(source.slice(0, start), node, source.slice(start + core.length));
    if (!translation) return;
    nodes.set(number, node);
    node.addEventListener("click", ({ target }) => {
      const step = target instanceof HTMLElement ? target.dataset.step : undefined;
      choose(number, step === undefined ? undefined : +step);
    });
    node.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose(number);
    });
  }

  /** Show which sentence is looked into, if there is a choice. @param {number} chosen */
  function mark(chosen) {
    if (nodes.size > 1)
      for (const [number, node] of nodes) {
        node.tabIndex = 0;
        node.setAttribute("role", "button");
        node.setAttribute("aria-pressed", String(number === chosen));
      }
  }

  function clear() {
    nodes.clear();
    root.replaceChildren();
  }
  return { add, mark, clear };
}
