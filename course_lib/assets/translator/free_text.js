// @ts-check
// Text as people type it: several sentences, perhaps not German, with signs that no model knows. Each sentence is
// looked at before it is translated, as course_lib/decoding/free_text.py does it.

import { splitSentences } from "./sentences.js";
import { translate, translateTokens } from "./translate.js";
import { SPACE, isBlank, visible } from "./words.js";

/** @import { Translation } from "./translate.js" */
/** @import { TrainedModel } from "./weights.js" */

/** @typedef {"left_out" | "english" | "not_german" | "long" | "too_long" | "cut_off"} RemarkKind */

/**
 * A sentence of a text, and what became of it.
 *
 * @typedef {object} TranslatedSentence
 * @property {string} source as it was typed, white space around it included
 * @property {Translation | null} translation null if the sentence is not translated
 * @property {Partial<Record<RemarkKind, string>>} remarks what a reader should know, a sentence each
 */

const LONG = 40; // tokens: two in a thousand sentences of the training pairs have more
const LEAST_EVIDENCE = -3; // nats in a German sentence
const ENGLISH = -0.75; // nats a token: what is no German sentence and has less is English
// What is neither falls into many short tokens, and none of them is typical of German.
const TOKENS_PER_LETTER = 0.6, EVIDENCE_PER_TOKEN = 1;
const FEWEST_LETTERS = 6; // of a text in short tokens that is called no German

const TAG = /<\/?[A-Za-z][^<>]*>/g, SPACES = new RegExp(`[${SPACE}]+`), IS_SPACE = new RegExp(`^[${SPACE}]$`);
const QUESTION = new RegExp("^(?:wer|wen|wem|wessen|was|wann|wo|woher|wohin|wie|wieso|weshalb|warum|welche[mnrs]?|" +
  "wo(?:für|mit|von|zu|ran|rum|rauf|raus|rin|rüber|durch|gegen|nach|bei))(?![\\p{L}\\p{N}_])", "iu");

/**
 * Each sentence of a text, translated when it is asked for; joined, they keep the spacing of the text.
 *
 * @param {TrainedModel} trained
 * @param {string} text
 * @param {number} width of the beam; 0 decodes greedily
 * @returns {Generator<TranslatedSentence>}
 */
export function* translateFreeText(trained, text, width) {
  if (isBlank(text)) { // which translate refuses
    yield translated(text, translate(trained, text, width), {});
    return;
  }
  for (const source of splitSentences(visible(text))) {
    const { tokens, remarks, hasAddedMark } = makeReadable(trained, source);
    const translation = tokens.length ? translateTokens(trained, tokens, width) : null;
    if (translation && hasAddedMark) translation.text = translation.text.replace(/[.!?]+$/, "");
    yield translated(source, translation, remarks);
  }
}

/**
 * @param {string} source
 * @param {Translation | null} translation
 * @param {TranslatedSentence["remarks"]} remarks
 * @returns {TranslatedSentence}
 */
function translated(source, translation, remarks) {
  if (translation && !translation.finished) remarks.cut_off = "Cut off: the model generated no end of sentence.";
  return { source, translation, remarks };
}

/**
 * The tokens of a sentence that the model can read, none if it is not to be translated, and remarks on what it cannot.
 * A sentence without a final mark gets one, since nearly all that the model was trained on have one; one that is
 * written in capitals gets small letters.
 *
 * @param {TrainedModel} trained
 * @param {string} sentence
 */
export function makeReadable(trained, sentence) {
  /** @type {TranslatedSentence["remarks"]} */
  const remarks = {};
  const isKnown = trained.evidence ? new Set(trained.knownCharacters) : new Set(sentence);
  let { text, leftOut } = leaveOutUnknown(sentence, isKnown);
  if (leftOut.length) remarks.left_out = `The model has never seen ${listed(leftOut)}: left out.`;
  if (!/\p{L}/u.test(text)) return { tokens: [], remarks, hasAddedMark: false };
  if (text === text.toUpperCase() && text.includes(" ")) {
    const [first, ...rest] = text;
    text = first + rest.join("").toLowerCase();
  }
  if (trained.evidence) Object.assign(remarks, foreign(trained, text));
  if (remarks.english || remarks.not_german) return { tokens: [], remarks, hasAddedMark: false };
  const hasAddedMark = /[\p{L}\p{N}]$/u.test(text), mark = hasAddedMark ? (QUESTION.test(text) ? "?" : ".") : "";
  const tokens = trained.source.split(text + mark), { max_len } = trained.transformer.config;
  if (tokens.length > max_len) {
    remarks.too_long = `This sentence has ${tokens.length} tokens, and the model reads at most ${max_len}: ` +
      "make several sentences of it.";
    return { tokens: [], remarks, hasAddedMark };
  }
  if (tokens.length > LONG)
    remarks.long = `This sentence has ${tokens.length} tokens; hardly any that the model was trained on has ` +
      `more than ${LONG}, so it may lose its way.`;
  return { tokens, remarks, hasAddedMark };
}

/** The text without characters that are not known, and those, side by side ones together. */
function leaveOutUnknown(/** @type {string} */ text, /** @type {Set<string>} */ known) {
  const isUnknown = (/** @type {string} */ character) => !known.has(character) && !IS_SPACE.test(character);
  /** @type {string[]} */
  const leftOut = [];
  if (text.includes("<") && !known.has("<")) {
    leftOut.push(...(text.match(TAG) ?? []));
    text = text.replace(TAG, " ");
  }
  let kept = "", run = "";
  for (const character of [...text, ""]) {
    if (character && isUnknown(character)) run += character;
    else {
      if (run) leftOut.push(run);
      kept += character;
      run = "";
    }
  }
  kept = kept.split(SPACES).filter(Boolean).join(" ").replace(/ (?=[.,!?])/g, "");
  return { text: kept, leftOut: [...new Set(leftOut)] };
}

/** Such as "a, b and c". @param {string[]} parts */
function listed(parts, most = 5) {
  const shorten = (/** @type {string} */ part) =>
    ([...part].length <= 20 ? part : `${[...part].slice(0, 20).join("")}…`);
  const shown = [...parts.slice(0, most).map(shorten), ...(parts.length > most ? ["others"] : [])];
  return shown.length > 1 ? `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}` : shown[0];
}

/**
 * The remark that a text is not German, if it is not.
 *
 * @param {TrainedModel} trained
 * @param {string} text
 * @returns {TranslatedSentence["remarks"]}
 */
function foreign({ source, evidence }, text) {
  const words = text.match(/\p{L}+/gu) ?? [], letters = words.reduce((sum, word) => sum + [...word].length, 0);
  const found = source.split(text).map((token) => evidence?.[source.ids.get(token) ?? 0] ?? 0);
  const total = found.reduce((a, b) => a + b, 0), mean = total / found.length;
  const inShortTokens = source.split(words.join(" ")).length > TOKENS_PER_LETTER * letters;
  if (inShortTokens && letters < FEWEST_LETTERS) return {}; // Hm: too little to tell
  const isStrange = inShortTokens && mean < EVIDENCE_PER_TOKEN;
  if (!isStrange && total >= LEAST_EVIDENCE) return {};
  if (mean < ENGLISH) return { english: "This looks like English; the model reads German." };
  return { not_german: "These are no German words that the model can read." };
}
