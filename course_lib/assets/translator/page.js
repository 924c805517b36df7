// @ts-check
// The page: what a reader types is translated, and what the model computed is shown.

import { make } from "../explorer/controls/dom.js";
import { decimals } from "../explorer/data/numbers.js";
import { makeAttentionView } from "./attention_view.js";
import { translateFreeText } from "./free_text.js";
import { percent, showNextWords } from "./next_words.js";
import { BEAM_WIDTH, BEAM_WIDTHS, CHIPS, LONGEST_QUOTE, SIMILAR_WORDS, TEMPERATURE } from "./sizes.js";
import { rowOf } from "./transformer.js";
import { translate, wordsOf } from "./translate.js";
import { makeTranslationView } from "./translation_view.js";
import { unpackText } from "./weights.js";
import { partsAround, replaceWord, similarWords } from "./words.js";

/** @import { TranslatedSentence } from "./free_text.js" */
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
  const trained = await unpackText(base64);
  Object.assign(self, { translator: { trained, translate: (/** @type {string} */ text, width = 0) =>
    translate(trained, text, width) } }); // for curious readers, in the browser's console
  const page = makePage(trained);
  for (const [i, [source]] of trained.examples.entries())
    element(i < CHIPS ? "examples" : "more-examples").append(page.exampleButton(source));
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
  /** @type {TranslatedSentence[]} */
  let sentences = [];
  let chosen = -1, step = 0, runs = 0; // the sentence that is looked into, and its step
  const text = inputOf("sentence"), temperature = inputOf("temperature"), width = inputOf("width");
  const known = trained.source.tokens.filter((word) => !word.startsWith("<"));
  const right = new Map([...trained.examples, ...trained.sentences].map(([source, target]) =>
    [trained.source.split(source).join(" "), target]));
  const label = (/** @type {string} */ token) => trained.target.label(token);
  const labels = trained.target.tokens.map(label);
  const showAttention = makeAttentionView(element("attention"), label, chooseStep);
  const translationView = makeTranslationView(element("translation"), trained.target, chooseSentence);

  async function run() {
    const number = ++runs, isBeam = inputOf("beam").checked;
    const parts = translateFreeText(trained, text.value, isBeam ? +width.value : 0);
    /** @type {TranslatedSentence[]} */
    const found = [];
    let milliseconds = 0;
    fail("");
    element("status").textContent = "Translating …";
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve)); // lets the browser show that
      if (number !== runs) return; // a later text has come
      const began = performance.now();
      try {
        const { value, done } = parts.next();
        if (done) break;
        found.push(value);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        fail(error.message);
        text.setAttribute("aria-invalid", "true");
        for (const id of ["result", "inside"]) element(id).hidden = true; // of the text before
        return;
      }
      milliseconds += performance.now() - began;
      show(found);
    }
    const read = found.flatMap(({ translation }) => translation?.source ?? []).length;
    const translated = found.filter(({ translation }) => translation).length;
    const all = counted(found.length, "sentence");
    element("status").textContent = !translated ? "Nothing to translate."
      : `Translated ${translated < found.length ? `${translated} of ${all}` : all}, ${counted(read, "token")}, in ` +
        `${Math.round(milliseconds)} ms, ${isBeam ? `beam search of width ${width.value}` : "greedy decoding"}.`;
    document.body.dataset.runs = String(number); // set last: all of it is shown
  }

  /** Show the last of the sentences, and look into the first that is translated. @param {TranslatedSentence[]} found */
  function show(found) {
    const last = found.length - 1, { translation } = found[last];
    if (!last) {
      text.removeAttribute("aria-invalid");
      translationView.clear();
      chosen = -1;
    }
    sentences = found;
    element("result").hidden = false;
    translationView.add(found[last], last);
    const remarked = found.filter(({ remarks }) => Object.keys(remarks).length);
    element("remarks").replaceChildren(...remarked.map((each) => remarkItem(each, found.length > 1)));
    for (const id of ["about", "inside"]) element(id).hidden = chosen < 0 && !translation; // what is hidden is not drawn
    if (translation && chosen < 0) chooseSentence(last);
    else translationView.mark(chosen);
    element("which").hidden = found.filter(({ translation }) => translation).length < 2;
    element("legend").hidden = !element("translation").querySelector(".unsure");
  }

  /** All remarks on a sentence. @param {TranslatedSentence} sentence @param {boolean} quoted */
  function remarkItem({ source, remarks }, quoted) {
    const start = [...source.trim()].slice(0, LONGEST_QUOTE).join("");
    const quote = make("q", { lang: "de", textContent: start === source.trim() ? start : `${start}…` });
    return make("li", {}, ...(quoted ? [quote, " "] : []), Object.values(remarks).join(" "));
  }

  /** @param {number} number @param {number} [at] by default the least certain step: the most to see */
  function chooseSentence(number, at) {
    const { translation } = sentences[chosen = number];
    if (!translation) return;
    translationView.mark(chosen);
    element("score").textContent = `The model gives this translation the probability ` +
      `${percent(Math.exp(translation.logProb))} (log-probability ${decimals(translation.logProb, 2)} nats).`;
    const reference = right.get(translation.source.join(" "));
    element("reference").textContent = !reference ? ""
      : isSame(reference, translation.text) ? "This is the right translation."
      : `${trained.evidence ? "A right translation" : "Expected"}: ${reference}`;
    element("read").replaceChildren(...(translation.unknown.length
      ? partsAround(sentences[number].source.trim(), translation.unknown).map(({ text, found }) =>
        (found ? make("mark", { textContent: text, title: "The model does not know this." }) : text)) : []));
    element("unknown").replaceChildren(...unknownNote(translation.unknown));
    element("steps").replaceChildren(...wordsOf(trained.target, translation.target).map(({ start, end }) =>
      make("span", { className: "word" }, ...translation.target.slice(start, end).map((token, i) => {
        const share = percent(translation.probabilities[start + i]);
        const button = make("button", { type: "button", aria: { pressed: false } }, label(token),
          make("small", { textContent: share }));
        button.addEventListener("click", () => chooseStep(start + i));
        return button;
      }))));
    chooseStep(at ?? translation.probabilities.indexOf(Math.min(...translation.probabilities)));
  }

  /** Whether two translations have the same tokens. @param {string} one @param {string} other */
  function isSame(one, other) {
    return trained.target.split(one).join(" ") === trained.target.split(other).join(" ");
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
        button.addEventListener("click", () => ask(replaceWord(text.value, word, other)));
        return button;
      }), ...(words.length > 1 ? [" for ", named(word)] : [])]);
    return [make("p", {}, "The model does not know ", ...list,
      " and reads <unk>, which stands for every unknown word. ",
      ...(suggestions.length ? [...suggestions, "?"] : [`It knows no similar word${words.length > 1 ? "s" : ""}.`]))];
  }

  /** @param {number} at */
  function chooseStep(at) {
    const { translation } = sentences[chosen];
    if (!translation) return;
    step = at;
    element("steps").querySelectorAll("button").forEach((button, i) =>
      button.setAttribute("aria-pressed", String(i === step)));
    element("step").replaceChildren(`Step ${step + 1} of ${translation.target.length}. The decoder has read `,
      make("b", { lang: "en", textContent: translation.input.slice(0, step + 1).map(label).join(" ") }),
      "; the next token:");
    showBars();
    showAttention(translation, step);
  }

  function showBars() {
    const translation = sentences[chosen]?.translation;
    if (!translation) return;
    inputOf("shown-temperature").value = (+temperature.value).toFixed(1);
    showNextWords(element("words"), {
      logits: rowOf(translation.logits, step), labels, generated: translation.targetIds[step],
      temperature: +temperature.value,
    });
  }

  /** @param {string} asked */
  function ask(asked) {
    text.value = asked;
    text.focus();
    return run();
  }

  /** @param {string} source */
  function exampleButton(source) {
    const button = make("button", { type: "button", lang: "de", textContent: source });
    button.addEventListener("click", () => { text.value = source; run(); });
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
    text.value = source;
    run();
  });
  for (const id of ["greedy", "beam"]) inputOf(id).addEventListener("change", run);
  width.addEventListener("change", () => { inputOf("beam").checked = true; run(); });
  element("ask").addEventListener("submit", (event) => { event.preventDefault(); run(); });
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    run();
  });
  return { run, exampleButton };
}

/** @param {number} count @param {string} thing */
const counted = (count, thing) => `${count} ${thing}${count === 1 ? "" : "s"}`;

start(element("model").textContent ?? "");
