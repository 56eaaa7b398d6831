/** Sizes of texts in UTF-8, computed without copying the text, because a body may have megabytes. */

/** Length in UTF-8. */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    // Each half of a surrogate pair counts 2. Together they are the 4 bytes of the character.
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1;
  }
  return bytes;
}

/** The UTF-8 bytes of all characters outside the scripts that tokenizers know well (`commonRanges`). */
export function rareScriptBytes(text: string): number {
  let bytes = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit <= 0x7f || isCommon[unit] === 1) continue;
    bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 3 : 2;
  }
  return bytes;
}

/**
 * Latin, Greek, Cyrillic, Chinese, Japanese and Korean with their punctuation. Their rarest blocks (phonetic signs, supplements, the
 * ideographs of Extension A and beyond) are not among them: tokenizers split these into single bytes.
 */
const commonRanges: readonly (readonly [first: number, last: number])[] = [
  // ASCII and Latin to Extended-B.
  [0x0000, 0x024f],
  // Greek and Cyrillic.
  [0x0370, 0x04ff],
  // Latin with more marks, such as Vietnamese, and polytonic Greek.
  [0x1e00, 0x1fff],
  // Dashes, quotation marks and other punctuation.
  [0x2000, 0x206f],
  // Currency signs.
  [0x20a0, 0x20bf],
  // Punctuation of Chinese and Japanese, kana, Bopomofo, letters of Hangul.
  [0x3000, 0x318f],
  // Ideographs.
  [0x4e00, 0x9fff],
  // Syllables of Hangul.
  [0xac00, 0xd7a3],
  // Full-width Latin and half-width kana.
  [0xff00, 0xff9f],
];

/** A table, because a comparison with every range would take a tenth of a second for the largest body. */
const isCommon = new Uint8Array(0x1_0000);
for (const [first, last] of commonRanges) isCommon.fill(1, first, last + 1);
