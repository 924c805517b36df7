// @ts-check
// For tests/js/test_translator.py: reads {model, texts, width} from standard input, where the model is packed
// and in base64, and prints what the scripts of the translator compute for each text.

import { readFileSync } from "node:fs";

import { translate } from "../../course_lib/assets/translator/translate.js";
import { unpackModel } from "../../course_lib/assets/translator/weights.js";
import { similarWords } from "../../course_lib/assets/translator/words.js";

const { model, texts, width } = JSON.parse(readFileSync(0, "utf-8"));
const trained = await unpackModel(Uint8Array.from(atob(model), (c) => c.charCodeAt(0)));
const known = trained.sourceWords.filter((word) => !word.startsWith("<"));
const results = texts.map((/** @type {string} */ text) => {
  const { logits, attention, ...rest } = translate(trained, text, width);
  const numbers = Object.values(attention).map((layers) =>
    layers.map((heads) => heads.map(({ data }) => [...data])));
  const similar = Object.fromEntries(rest.unknown.map((word) => [word, similarWords(word, known, 3)]));
  return { ...rest, logits: [...logits.data], attention: numbers, similar };
});
console.log(JSON.stringify(results));
