import { readFile, writeFile } from 'node:fs/promises';
import { matrixTable } from './matrix-table.ts';
import { apiDocument, withMatrix } from './matrix-document.ts';

await writeFile(apiDocument, withMatrix(await readFile(apiDocument, 'utf8'), matrixTable()));
