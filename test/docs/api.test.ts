import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { apiDocuments } from './api-document.ts';

describe('docs/openapi.json, docs/API.md and the types of tollgate-js', () => {
  it('are what `npm run docs:api` writes', async () => {
    for (const [path, text] of await apiDocuments()) {
      expect(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')).toBe(text);
    }
  });
});
