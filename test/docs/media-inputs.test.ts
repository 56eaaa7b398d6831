import { expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { mediaInputsTable, providersDocument, withMediaInputs } from './media-inputs-document.ts';

it('docs/PROVIDERS.md shows what each adapter declares to send; else run npm run docs:media', async () => {
  const document = await readFile(providersDocument, 'utf8');
  expect(withMediaInputs(document, mediaInputsTable())).toBe(document);
});
