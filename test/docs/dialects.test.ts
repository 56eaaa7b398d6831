import { expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { matrixTable } from '../dialects/matrix-table.ts';
import { apiDocument, withMatrix } from '../dialects/matrix-document.ts';

it('docs/API.md shows the cases of the dialect suite as they are; else run npm run docs:dialects', async () => {
  const document = await readFile(apiDocument, 'utf8');
  expect(withMatrix(document, matrixTable())).toBe(document);
});
