// @ts-check
// The page: what a reader types is translated, and what the model computed is shown.

import { make } from "../explorer/controls/dom.js";
import { decimals } from "../explorer/data/numbers.js";
import { makeAttentionView } from "./attention_view.js";
import { percent, showNextWords } from "./next_words.js";
import { BEAM_WIDTH, BEAM_WIDTHS, FOLDED_BELOW, SIMILAR_WORDS, TEMPERATURE } from "./sizes.js";
import { rowOf, softmax } from "./transformer.js";
import { translate } from "./translate.js";
import { unpackModel } from "./weights.js";
import { replaceWord, similarWords, splitWords } from "./words.js";

/** @import { Translation } from "./translate.js" */
/** @import { TrainedModel } from "./weights.js" */

/** @param {string} id */
const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
/** @param {string} id */
const inputOf = (id) => /** @type {HTMLInputElement} */ (element(id));

/**
 * Unpack the model in the page and listen to the reader.
 *
 * @param {string} base64 the packed model
 */
async function start(base64) {
  if (!("DecompressionStream" in self) || !("at" in Array.prototype)) {
    element("status").textContent = "This browser is too old to compute the model: expected Chrome 92, " +
      "Firefox 113, Safari 16.4 or newer.";
    return;
  }
  const text = atob(base64), packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const trained = await unpackModel(packed);
  Object.assign(self, { translator: { trained, translate: (/** @type {string} */ text, width = 0) =>
    translate(trained, text, width) } }); // for curious readers, in the browser's console
  const page = makePage(trained);
  for (const [source, target] of trained.examples)
    element("examples").append(page.exampleButton(source, target));
  element("more").toggleAttribute("open", self.innerWidth >= FOLDED_BELOW);
  element("ask").hidden = false;
  inputOf("sentence").value = trained.examples[0][0];
  await page.run();
}

/** @param {string} message */
function fail(message) {
  element("error").textContent = message;
  element("status").textContent = "";
}

/** @param {TrainedModel} trained */
function makePage(trained) {
  /** @type {Translation | null} */
  let translation = null;
  let step = 0, runs = 0;
  const sentence = inputOf("sentence"), temperature = inputOf("temperature"), width = inputOf("width");
  const known = trained.sourceWords.filter((word) => !word.startsWith("<"));
  const right = new Map([...trained.examples, ...trained.sentences].map(([source, target]) =>
    [splitWords(source).join(" "), target]));
  const showAttention = makeAttentionView(element("attention"), chooseStep);

  async function run() {
    const number = ++runs, isBeam = inputOf("beam").checked;
    fail("");
    element("status").textContent = "Translating …";
    await new Promise((resolve) => setTimeout(resolve)); // lets the browser show that
    if (number !== runs) return; // a later sentence has come
    const began = performance.now();
    try {
      translation = translate(trained, sentence.value, isBeam ? +width.value : 0);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      fail(error.message);
      sentence.setAttribute("aria-invalid", "true");
      return;
    }
    const milliseconds = Math.round(performance.now() - began), { length } = translation.sourceWords;
    sentence.removeAttribute("aria-invalid");
    element("result").hidden = false;
    showResult(translation);
    chooseStep(leastCertain(translation)); // the most to see
    element("status").textContent = `Translated ${length} word${length === 1 ? "" : "s"} and marks in ` +
      `${milliseconds} ms, ${isBeam ? `beam search of width ${width.value}` : "greedy decoding"}.`;
    document.body.dataset.runs = String(number); // set last: all of it is shown
  }

  /** @param {Translation} of */
  function showResult(of) {
    element("translation").textContent = of.text;
    element("score").textContent = `The model gives this translation the probability ` +
      `${percent(Math.exp(of.logProb))} (log-probability ${decimals(of.logProb, 2)} nats).` +
      (of.finished ? "" : " It is cut off: the model has not generated the end of the sentence.");
    const reference = right.get(of.sourceWords.join(" "));
    element("reference").textContent = !reference ? ""
      : splitWords(reference).join(" ") === splitWords(of.text).join(" ") ? "This is the right translation."
      : `Expected: ${reference}`;
    element("unknown").replaceChildren(...unknownNote(of.unknown));
    element("steps").replaceChildren(...of.targetWords.map((word, i) => {
      const share = probabilityOf(of, i);
      const button = make("button", { type: "button", aria: { pressed: false } }, word,
        make("small", { textContent: percent(share) }));
      button.addEventListener("click", () => chooseStep(i));
      return button;
    }));
  }

  /** One sentence for all of them. @param {string[]} words */
  function unknownNote(words) {
    if (!words.length) return [];
    /** @param {string} word */
    const named = (word) => make("b", { lang: "de", textContent: word });
    const list = words.flatMap((word, i) => [i === 0 ? "" : i < words.length - 1 ? ", " : " or ", named(word)]);
    const suggestions = words.map((word) => ({ word, similar: similarWords(word, known, SIMILAR_WORDS) }))
      .filter(({ similar }) => similar.length)
      .flatMap(({ word, similar }, i) => [i ? ", " : "Did you mean ", ...similar.map((other) => {
        const button = make("button", { type: "button", lang: "de", textContent: other });
        button.addEventListener("click", () => ask(replaceWord(sentence.value, word, other)));
        return button;
      }), ...(words.length > 1 ? [" for ", named(word)] : [])]);
    return [make("p", {}, "The model does not know ", ...list,
      " and reads <unk>, which stands for every unknown word. ",
      ...(suggestions.length ? [...suggestions, "?"] : [`It knows no similar word${words.length > 1 ? "s" : ""}.`]))];
  }

  /** @param {number} chosen */
  function chooseStep(chosen) {
    step = chosen;
    if (!translation) return;
    [...element("steps").children].forEach((button, i) => button.setAttribute("aria-pressed", String(i === step)));
    const { inputWords, targetWords } = translation;
    element("step").replaceChildren(`Step ${step + 1} of ${targetWords.length}. The decoder has read `,
      make("b", { lang: "en", textContent: inputWords.slice(0, step + 1).join(" ") }), "; the next word:");
    showBars();
    showAttention(translation, step);
  }

  function showBars() {
    if (!translation) return;
    inputOf("shown-temperature").value = (+temperature.value).toFixed(1);
    showNextWords(element("words"), {
      logits: rowOf(translation.logits, step), words: trained.targetWords,
      generated: translation.targetIds[step], temperature: +temperature.value,
    });
  }

  /** @param {string} text */
  function ask(text) {
    sentence.value = text;
    sentence.focus();
    return run();
  }

  /** @param {string} source @param {string} target */
  function exampleButton(source, target) {
    const button = make("button", { type: "button" }, make("span", { lang: "de", textContent: source }),
      make("small", { textContent: target }));
    button.addEventListener("click", () => { sentence.value = source; run(); });
    return button;
  }

  width.replaceChildren(...BEAM_WIDTHS.map((value) => make("option", { value, textContent: value })));
  width.value = String(BEAM_WIDTH);
  const { min, max, step: by, start: value } = TEMPERATURE;
  Object.assign(temperature, { min, max, step: by, value });
  temperature.addEventListener("input", showBars);
  element("random").hidden = !trained.sentences.length;
  element("random").addEventListener("click", () => {
    const [source] = trained.sentences[Math.floor(Math.random() * trained.sentences.length)];
    sentence.value = source;
    run();
  });
  for (const id of ["greedy", "beam"]) inputOf(id).addEventListener("change", run);
  width.addEventListener("change", () => { inputOf("beam").checked = true; run(); });
  element("ask").addEventListener("submit", (event) => { event.preventDefault(); run(); });
  sentence.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    run();
  });
  return { run, exampleButton };
}

/** @param {Translation} translation */
function leastCertain(translation) {
  const shares = translation.targetIds.map((_, i) => probabilityOf(translation, i));
  return shares.indexOf(Math.min(...shares));
}

/** @param {Translation} translation @param {number} step */
function probabilityOf({ logits, targetIds }, step) {
  return softmax(rowOf(logits, step))[targetIds[step]];
}

start(element("model").textContent ?? "");
