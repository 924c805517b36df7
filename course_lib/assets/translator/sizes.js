// @ts-check
// Numbers that decide how the page looks. Lengths are CSS pixels; colours are in translator.css and colour.js.

export const PUNCTUATION = /^[.,?!]$/u; // shown in quotes, which are no specks
export const TOP_WORDS = 10; // bars at each step
export const UNSURE = 0.5; // words that the model gives less than this are marked in the translation
export const LONGEST_QUOTE = 60; // characters of a sentence that a remark is about
export const SIMILAR_WORDS = 3; // suggested for an unknown word
export const BEAM_WIDTHS = [2, 3, 4, 5, 6, 8];
export const BEAM_WIDTH = 4; // at the start; the paper's (section 6.1)
export const TEMPERATURE = { min: 0.1, max: 3, step: 0.1, start: 1 };

export const CHIPS = 3; // examples that are always shown; the others are folded

// The large heatmap. Cells from `numbered` on have their weight written in them.
export const CELL = { smallest: 9, largest: 46, numbered: 32 };
export const LABEL_HEIGHT = 14; // where rows are lower, some have no label
export const KEY_LABEL = 110; // the longest, written upwards
export const QUERY_LABEL = { narrowest: 96, share: 0.3 }; // at most this share of the width

export const THUMBNAIL = { narrowest: 20, widest: 150, flattest: 0.5, tallest: 1.4 }; // height by width
