/** How tokenizers split one kind of character. */
interface Kind {
  /** Tokens for each character. */
  each: number;
  /** What adjacent characters of this kind make, if its beginning counts too, and the tokens for that. */
  run?: 'word' | 'number' | 'signs';
  start?: number;
}

const blank: Kind = { each: 0 };
const newline: Kind = { each: 1 };
const letter: Kind = { run: 'word', start: 0.6, each: 0.12 };
const accented: Kind = { run: 'word', start: 0.6, each: 0.6 };
const digit: Kind = { run: 'number', start: 1.2, each: 0.25 };
const sign: Kind = { run: 'signs', start: 0.6, each: 0.06 };
const wideSign: Kind = { each: 0.9 };
const greek: Kind = { each: 0.4 };
const cyrillic: Kind = { each: 0.33 };
const ideograph: Kind = { each: 0.82 };
const kana: Kind = { each: 0.72 };
const hangul: Kind = { each: 0.68 };
/** By their bytes in UTF-8: two, three, and half of four. */
const shorter: Kind = { each: 0.34 };
const other: Kind = { each: 0.51 };
const halfOfPair: Kind = { each: 0.34 };

/** A later row replaces an earlier one. */
const ranges: readonly (readonly [first: number, last: number, kind: Kind])[] = [
  [0x0000, 0x07ff, shorter],
  [0x0800, 0xffff, other],
  [0x0000, 0x007f, sign],
  [0x0009, 0x0009, blank],
  [0x000a, 0x000d, newline],
  [0x0020, 0x0020, blank],
  [0x0030, 0x0039, digit],
  [0x0041, 0x005a, letter],
  [0x0061, 0x007a, letter],
  [0x00c0, 0x024f, accented],
  [0x0370, 0x03ff, greek],
  [0x0400, 0x04ff, cyrillic],
  [0x1e00, 0x1eff, accented],
  [0x1f00, 0x1fff, greek],
  [0x2000, 0x206f, wideSign],
  [0x3000, 0x303f, wideSign],
  [0x3040, 0x30ff, kana],
  [0x4e00, 0x9fff, ideograph],
  [0xac00, 0xd7a3, hangul],
  [0xd800, 0xdfff, halfOfPair],
  [0xff00, 0xff65, wideSign],
  [0xff66, 0xff9f, kana],
];

/** Tables, because a comparison with every range would take a tenth of a second for the largest body. */
const kinds = [...new Set(ranges.map(([, , kind]) => kind))];
const runs = Uint8Array.from(kinds, ({ run }) => [undefined, 'word', 'number', 'signs'].indexOf(run));
const starts = Float64Array.from(kinds, ({ start }) => start ?? 0);
const eaches = Float64Array.from(kinds, ({ each }) => each);
const kindOf = new Uint8Array(0x1_0000);
for (const [first, last, kind] of ranges) kindOf.fill(kinds.indexOf(kind), first, last + 1);

/**
 * The tokens that a text probably has, where its tokenizer is not known. The numbers were fitted to OpenAI's `o200k` with prose in
 * twelve languages, code and JSON. A repeated letter has fewer tokens, and random letters have more.
 */
export function likelyTokens(text: string): number {
  let tokens = 0;
  let before = -1;
  for (let index = 0; index < text.length; index += 1) {
    const kind = kindOf[text.charCodeAt(index)] ?? 0;
    const run = runs[kind] ?? 0;
    if (run !== before) tokens += starts[kind] ?? 0;
    tokens += eaches[kind] ?? 0;
    before = run;
  }
  return tokens;
}
