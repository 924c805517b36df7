// @ts-check
// Where a German text is split into sentences, as course_lib/decoding/sentences.py does it.

import { SPACE } from "./words.js";

// End marks, the quotation marks and brackets that close after them, and the white space up to the next sentence; or
// a line break. A match begins where a run of marks or of white space begins: else a long one would be searched from
// each of its characters.
const MAYBE_END = new RegExp(`(?<![.!?…])([.!?…]+)(["'“”‘’»«›‹)\\]]*)(?:[${SPACE}]+|$)|` +
  `(?<![${SPACE}])[${SPACE}]*[\\n\\r][${SPACE}]*`, "g");
const LONGEST_WORD = 30; // characters before a point that are looked at
const LAST_WORD = /(?:\p{Nd}+[.,])*[\p{L}\p{N}]+(?:['’][\p{L}\p{N}]+)*$/u;
// A day or another ordinal (3. Mai, 3.5.), a numeral of a king (Karl IV.), an initial or a part of an abbreviation
// (J. S. Bach, z. B.).
const NO_END = /^(?:\p{Nd}{1,2}(?:\.\p{Nd}{1,2})?|[IVX]+|[\p{L}\p{Nl}\p{No}])$/u;
const ABBREVIATIONS = new Set((
  "abb abs allg anm aufl aug bd betr bsp bspw bzgl bzw ca chr co dez dipl dr ebd ehem eigtl engl " +
  "etc evtl fa feb fr frl geb gegr gest ggf hl hr hrn hrsg ing inkl insb jh jr kap lfd lt min " +
  "mind mio mr mrd mrs nov nr okt prof resp sept sog st std str tel tsd urspr usf usw vgl vs wg zzgl zzt").split(" "));

/**
 * The sentences of a text, each with the white space after it; joined, they are the text.
 *
 * @param {string} text
 */
export function splitSentences(text) {
  const sentences = [];
  let start = 0;
  for (const found of text.matchAll(MAYBE_END)) {
    const end = found.index + found[0].length;
    const before = text.slice(Math.max(start, found.index - LONGEST_WORD), found.index);
    if (!(before.trim() || found[1]) || !isEnd(found, before, text.slice(end, end + 2))) continue;
    sentences.push(text.slice(start, end));
    start = end;
  }
  return start < text.length ? [...sentences, text.slice(start)] : sentences;
}

/** @param {RegExpMatchArray} found @param {string} before @param {string} after */
function isEnd([all, marks, closing], before, after) {
  if (!after || /[\n\r]/.test(all)) return true;
  if (closing || marks.includes("…") || marks.includes("..")) return !/^\p{Lowercase}/u.test(after);
  if (marks !== ".") return true;
  const word = before.match(LAST_WORD)?.[0];
  return !word || !(NO_END.test(word) || ABBREVIATIONS.has(word.toLowerCase()));
}
