import { describe, expect, it } from '@jest/globals';
import { createIdBodies, isId, newId } from '../../../src/platform/crypto/ids.ts';

describe('newId', () => {
  it('returns unique ids that sort in the order of their creation', () => {
    const ids = Array.from({ length: 5_000 }, () => newId('task'));
    expect([...ids].sort()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('writes the prefix and 26 lower-case Crockford characters', () => {
    expect(newId('prj')).toMatch(/^prj_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
  });

  it('keeps the order if the clock steps back', () => {
    const times = [2_000, 1_000, 1_000, 3_000];
    const next = createIdBodies({ now: () => times.shift() ?? 0, randomBytes: (count) => Buffer.alloc(count, 7) });
    const bodies = [next(), next(), next(), next()];
    expect([...bodies].sort()).toEqual(bodies);
    expect(new Set(bodies).size).toBe(4);
  });

  it('puts the time first, as a ULID does', () => {
    const next = createIdBodies({ now: () => 1_469_918_176_385, randomBytes: (count) => Buffer.alloc(count) });
    expect(next()).toBe(bodyOf(1_469_918_176_385));
  });
});

describe('isId', () => {
  it('accepts ids of its prefix and nothing else', () => {
    const id = newId('file');
    expect(isId('file', id)).toBe(true);
    for (const other of [
      '',
      'file_',
      id.toUpperCase(),
      `${id}0`,
      id.slice(0, -1),
      `task_${id.slice(5)}`,
      `file_${'u'.repeat(26)}`,
      `${id}\n`,
    ]) {
      expect(isId('file', other)).toBe(false);
    }
    expect(isId('key', id)).toBe(false);
  });
});

function bodyOf(milliseconds: number): string {
  const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
  let text = '';
  for (let rest = milliseconds; text.length < 10; rest = Math.floor(rest / 32)) text = `${alphabet[rest % 32]}${text}`;
  return text + '0'.repeat(16);
}
