// @ts-check
// From text to words and back, as course_lib/data/vocabulary.py does it (lesson 09), and similar words.

// As there: Python's \w, marks and joiners; \s, which JavaScript's own differs from; what nobody sees.
const LETTER = "\\p{L}\\p{N}_\\p{M}\\u200c\\u200d";
export const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const SIGN = `[^\\p{L}\\p{N}_${SPACE}]\\p{M}*`;
const WORD = new RegExp(`[${LETTER}]+(?:['’-][${LETTER}]+)*|${SIGN}(?:\\u200d${SIGN})*`, "gu");
const INVISIBLE = /[\xad\u034f\u061c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g;

const BLANK = new RegExp(`^(?:${INVISIBLE.source}|[${SPACE}\\u200b-\\u200d\\u2800\\u3164\\ufe0f\\x1a])*$`);

/** Tokens that are generated, perhaps, but no part of the text. */
export const SPECIAL = ["<pad>", "<bos>", "<eos>"];

const SIMILAR = 0.6; // as in Python's difflib.get_close_matches
const LONGEST = 100; // characters: a longer word is not compared, which would take too long

/**
 * Lower-case words and punctuation marks: "Der Hund schläft." gives der, hund, schläft, "."
 *
 * @param {string} text
 * @returns {string[]}
 */
export const splitWords = (text) => visible(text).toLowerCase().match(WORD) ?? [];

/** Whether nothing in a text can be seen. @param {string} text */
export const isBlank = (text) => BLANK.test(text);

/**
 * The text in NFC without invisible characters; a zero-width space separates words.
 *
 * @param {string} text
 */
export const visible = (text) => text.replace(INVISIBLE, "").replace(/\u200b/g, " ").normalize("NFC");

/**
 * Readable text from words.
 *
 * @param {string[]} words
 */
export const joinWords = (words) => words.join(" ").replace(/ ([.,?!])/g, "$1");

/** A vocabulary of words: each token is one. */
export class Vocabulary {
  /** @param {string[]} tokens in the order of their ids */
  constructor(tokens) {
    this.tokens = tokens;
    this.ids = new Map(tokens.map((token, id) => [token, id]));
  }

  split = splitWords;
  join = joinWords;
  label = (/** @type {string} */ token) => token;
  continues = () => false;
}

/**
 * A text with another word instead of one of its words, wherever that stands.
 *
 * @param {string} text
 * @param {string} word in lower case
 * @param {string} other
 */
export const replaceWord = (text, word, other) =>
  visible(text).replace(WORD, (found) => (found.toLowerCase() === word ? other : found));

/**
 * A text in parts: those that are one of these words, and what stands between them.
 *
 * @param {string} text
 * @param {string[]} words in lower case
 * @returns {{ text: string, found: boolean }[]}
 */
export function partsAround(text, words) {
  const seen = visible(text), parts = [];
  let end = 0;
  for (const { 0: word, index } of seen.matchAll(WORD)) {
    if (!words.includes(word.toLowerCase())) continue;
    parts.push({ text: seen.slice(end, index), found: false }, { text: word, found: true });
    end = index + word.length;
  }
  return [...parts, { text: seen.slice(end), found: false }].filter(({ text }) => text);
}

/**
 * The known words most similar to an unknown one, best first; none if nothing is similar.
 *
 * @param {string} word
 * @param {string[]} known
 * @param {number} count
 */
export function similarWords(word, known, count) {
  const characters = [...word];
  if (characters.length > LONGEST) return [];
  return known.map((other) => ({ other, ratio: similarity([...other], characters) }))
    .filter(({ ratio }) => ratio >= SIMILAR)
    .sort((a, b) => b.ratio - a.ratio || (a.other < b.other ? 1 : -1))
    .slice(0, count).map(({ other }) => other);
}

/**
 * The share of characters that match (Ratcliff and Obershelp 1988), as Python's SequenceMatcher computes it.
 *
 * @param {string[]} a
 * @param {string[]} b
 */
const similarity = (a, b) => (2 * matching(a, b)) / (a.length + b.length);

/**
 * The characters of the longest common run, of that left of it, and of that right of it.
 *
 * @param {string[]} a
 * @param {string[]} b
 * @returns {number}
 */
function matching(a, b) {
  let length = 0, startA = 0, startB = 0;
  a.forEach((_, i) => b.forEach((_, j) => {
    let n = 0;
    while (i + n < a.length && j + n < b.length && a[i + n] === b[j + n]) n++;
    if (n > length) [length, startA, startB] = [n, i, j];
  }));
  if (!length) return 0;
  return length + matching(a.slice(0, startA), b.slice(0, startB)) +
    matching(a.slice(startA + length), b.slice(startB + length));
}
