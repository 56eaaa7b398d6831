import { setImmediate as nextTurn } from 'node:timers/promises';

/** So much is written in one turn of the event loop, which takes about a millisecond. */
const TURN_CHARACTERS = 65_536;

/**
 * A value as JSON. An object with lists is written item by item, in several turns of the event loop if it is large: others would wait for
 * megabytes in one piece. Throws what `JSON.stringify` throws.
 */
export async function writeJson(value: object): Promise<string> {
  const lists = Object.values(value).filter((member) => Array.isArray(member) && member.length > 1);
  if (lists.length === 0 || Array.isArray(value) || 'toJSON' in value) return JSON.stringify(value);
  const pieces: string[] = [];
  let written = 0;
  const add = async (text: string): Promise<void> => {
    pieces.push(text);
    written += text.length;
    if (written < TURN_CHARACTERS) return;
    written = 0;
    await nextTurn();
  };
  let before = '{';
  for (const [name, member] of Object.entries(value) as [string, unknown][]) {
    if (member === undefined || typeof member === 'function' || typeof member === 'symbol') continue;
    pieces.push(before, JSON.stringify(name), ':');
    before = ',';
    if (!Array.isArray(member)) {
      await add(JSON.stringify(member));
      continue;
    }
    for (const [index, item] of member.entries()) {
      // A hole, or what JSON does not have, is null in a list.
      await add((index === 0 ? '[' : ',') + (JSON.stringify(item) ?? 'null'));
    }
    pieces.push(member.length === 0 ? '[]' : ']');
  }
  return before === '{' ? '{}' : `${pieces.join('')}}`;
}
