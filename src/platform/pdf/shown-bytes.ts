const [OPEN, CLOSE, ESCAPE, LESS, GREATER] = [0x28, 0x29, 0x5c, 0x3c, 0x3e];

/**
 * The bytes of the strings in what a page shows; 0 for a stream without operators of text (ISO 32000-1, 9.4). A byte is at most one character, and a
 * character has at most one token. Null for a font that shows a long text for one character.
 */
export function shownBytes(data: Buffer): number | null {
  if (data.includes('begincmap')) return /<[\s0-9A-Fa-f]{65,}>/.test(data.toString('latin1')) ? null : 0;
  if (!hasOperator(data, 'BT')) return 0;
  let count = 0;
  let index = 0;
  while (index < data.length) {
    const byte = data[index];
    index += 1;
    if (byte === OPEN) {
      const end = endOfText(data, index);
      count += end - index;
      index = end + 1;
    } else if (byte === LESS && data[index] !== LESS) {
      const found = data.indexOf(GREATER, index);
      const end = found < 0 ? data.length : found;
      // Two digits are a byte.
      count += Math.ceil((end - index) / 2);
      index = end + 1;
    } else if (byte === LESS) index += 1;
  }
  return count;
}

/** How often a stream draws the same form; 0 if it draws none. */
export function mostDraws(data: Buffer): number {
  if (!data.includes(' Do')) return 0;
  const counts = new Map<string, number>();
  for (const [, name = ''] of data.toString('latin1').matchAll(/\/([\w.+-]{1,100}) Do\b/g))
    counts.set(name, (counts.get(name) ?? 0) + 1);
  return Math.max(0, ...counts.values());
}

/** Whether the two letters stand alone, as in data that is no text they do by chance only. */
function hasOperator(data: Buffer, operator: string): boolean {
  const isApart = (byte: number | undefined): boolean =>
    byte === undefined || byte <= 0x20 || '[]()<>/'.includes(String.fromCharCode(byte));
  for (let at = data.indexOf(operator); at >= 0; at = data.indexOf(operator, at + 1))
    if (isApart(data[at - 1]) && isApart(data[at + operator.length])) return true;
  return false;
}

/** Where a text in parentheses ends. It may have parentheses in pairs. */
function endOfText(data: Buffer, from: number): number {
  let depth = 1;
  for (let index = from; index < data.length; index += 1) {
    const byte = data[index];
    if (byte === ESCAPE) index += 1;
    else if (byte === OPEN) depth += 1;
    else if (byte === CLOSE) depth -= 1;
    if (depth === 0) return index;
  }
  return data.length;
}
