// @ts-check
// For tests/js/test_translator.py: reads {model, texts, width} from standard input, where the model is packed
// and in base64, and prints what the scripts of the translator compute for each text.

import { readFileSync } from "node:fs";

import { translateFreeText } from "../../course_lib/assets/translator/free_text.js";
import { translate } from "../../course_lib/assets/translator/translate.js";
import { unpackText } from "../../course_lib/assets/translator/weights.js";
import { similarWords } from "../../course_lib/assets/translator/words.js";

const { model, texts, width } = JSON.parse(readFileSync(0, "utf-8"));
const trained = await unpackText(model);
const known = trained.source.tokens.filter((word) => !word.startsWith("<"));
const whole = (/** @type {string} */ text) => {
  const { logits, attention, probabilities, ...rest } = translate(trained, text, width);
  const numbers = Object.values(attention).map((layers) =>
    layers.map((heads) => heads.map(({ data }) => [...data])));
  const similar = Object.fromEntries(rest.unknown.map((word) => [word, similarWords(word, known, 3)]));
  return { ...rest, logits: [...logits.data], attention: numbers, similar };
};
const inSentences = (/** @type {string} */ text) =>
  [...translateFreeText(trained, text, width)].map(({ source, translation, remarks }) =>
    ({ source, read: translation?.source ?? null, text: translation?.text ?? null, remarks }));
console.log(JSON.stringify(texts.map(trained.evidence ? inSentences : whole)));
