import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { apiDocuments } from './api-document.ts';

describe('the OpenAPI documents, the tables of the API documents, and the types of tollgate-js and the console', () => {
  it('are what `npm run docs:api` writes', async () => {
    const differing = [...(await apiDocuments())]
      .filter(([path, text]) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8') !== text)
      .map(([path]) => path);
    expect(differing).toEqual([]);
  });
});
