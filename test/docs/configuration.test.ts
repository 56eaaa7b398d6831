import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { listedSettings } from '../../src/config/load-config.ts';
import { settingsDocument } from './settings-document.ts';

describe('docs/CONFIGURATION.md', () => {
  it('is what `npm run docs:configuration` writes', () => {
    const document = readFileSync(new URL('../../docs/CONFIGURATION.md', import.meta.url), 'utf8');
    expect(document).toBe(settingsDocument());
  });

  it('describes at most 100 settings, each under a name of its own and with its purpose', () => {
    const names = listedSettings.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    // The cap does not rise with the number: a new setting takes the place of one that is never tuned, which becomes a fixed number.
    expect(names.length).toBeLessThanOrEqual(100);
    expect(listedSettings.filter(({ purpose }) => purpose === '')).toEqual([]);
    const document = settingsDocument();
    expect(names.filter((name) => !document.includes(`| \`${name}\` |`))).toEqual([]);
  });
});
