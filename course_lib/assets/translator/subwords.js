// @ts-check
// From text to subwords and back: byte-level BPE, as course_lib/data/subwords.py has it (lesson 09).

import { SPECIAL } from "./words.js";

// A word with the space before it, one digit, a run of other characters, or white space: no subword crosses these
// boundaries. (JavaScript's \s is not Unicode's white space, which is meant.)
const SPACE = "\\p{White_Space}";
const PRE_TOKEN = new RegExp(` ?[\\p{L}\\p{M}]+(?:['’][\\p{L}\\p{M}]+)*| ?\\p{N}| ?[^${SPACE}\\p{L}\\p{N}]+` +
  `|${SPACE}+(?!\\P{White_Space})|${SPACE}+`, "gu");

// The visible character that represents each byte (GPT-2's table): that of Latin-1, or one from U+0100 on.
const isVisible = (/** @type {number} */ byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
const BYTES = Array.from({ length: 256 }, (_, byte) => byte), HIDDEN = BYTES.filter((byte) => !isVisible(byte));
const LETTERS = BYTES.map((byte) => String.fromCharCode(isVisible(byte) ? byte : 256 + HIDDEN.indexOf(byte)));
const BYTE_OF = new Map(LETTERS.map((letter, byte) => [letter, byte]));

const WORD_START = /^[\p{L}\p{M}\p{N}'’\ufffd]/u, WORD_END = /[\p{L}\p{M}\p{N}'’\ufffd]$/u; // U+FFFD: half a letter

const utf8 = new TextEncoder(), fromUtf8 = new TextDecoder("utf-8", { ignoreBOM: true }); // which keeps the mark

export class Subwords {
  /** @param {string[]} tokens in the order of their ids @param {string[]} merges "left right", the first learnt first */
  constructor(tokens, merges) {
    this.tokens = tokens;
    this.ids = new Map(tokens.map((token, id) => [token, id]));
    this.ranks = new Map(merges.map((pair, rank) => [pair, rank]));
  }

  /** The tokens of a text. @param {string} text */
  split(text) {
    const normal = text.normalize("NFC"), preTokens = normal ? ` ${normal}`.match(PRE_TOKEN) ?? [] : [];
    return preTokens.flatMap((each) => this.merge(Array.from(utf8.encode(each), (byte) => LETTERS[byte])));
  }

  /** Merge neighbours, the pair that was learnt first before all others, until no two are a pair. */
  merge(/** @type {string[]} */ parts) {
    const rankAt = (/** @type {number} */ i) => this.ranks.get(`${parts[i]} ${parts[i + 1]}`) ?? Infinity;
    for (;;) {
      let first = 0, lowest = Infinity;
      for (let i = 0; i + 1 < parts.length; i++)
        if (rankAt(i) < lowest) [first, lowest] = [i, rankAt(i)];
      if (lowest === Infinity) return parts;
      const [left, right] = [parts[first], parts[first + 1]], merged = [];
      for (let i = 0; i < parts.length; i++)
        merged.push(parts[i] === left && parts[i + 1] === right ? left + parts[++i] : parts[i]);
      parts = merged;
    }
  }

  /** Text from tokens; bytes that are not UTF-8 become U+FFFD. @param {string[]} tokens */
  join(tokens) {
    return fromUtf8.decode(bytesOf(tokens.join(""))).replace(/^ /, "");
  }

  /** A readable token: "▁für" for "ĠfÃ¼r" (▁ is a space), "\xc3" for a single byte. @param {string} token */
  label(token) {
    if (SPECIAL.includes(token)) return token;
    const bytes = bytesOf(token), letters = [];
    for (let i = 0; i < bytes.length; ) {
      const whole = [1, 2, 3, 4].map((length) => fromUtf8.decode(bytes.subarray(i, i + length)))
        .find((text) => !text.includes("\ufffd"));
      letters.push(whole ?? `\\x${bytes[i].toString(16)}`);
      i += whole ? utf8.encode(whole).length : 1;
    }
    return letters.join("").replaceAll(" ", "▁");
  }

  /** Whether a token goes on with the word of the token before it. @param {string} before @param {string} token */
  continues(before, token) {
    return WORD_START.test(fromUtf8.decode(bytesOf(token))) && WORD_END.test(fromUtf8.decode(bytesOf(before)));
  }
}

/** The bytes of a token. @param {string} token */
const bytesOf = (token) => Uint8Array.from(token, (letter) => BYTE_OF.get(letter) ?? 63);
