import { readFile, writeFile } from 'node:fs/promises';
import { mediaInputsTable, providersDocument, withMediaInputs } from './media-inputs-document.ts';

await writeFile(providersDocument, withMediaInputs(await readFile(providersDocument, 'utf8'), mediaInputsTable()));
