import { writeFileSync } from 'node:fs';
import { committedDocument } from '../http/openapi/shipped-document.ts';
import { apiDocuments } from './api-document.ts';

for (const [path, text] of await apiDocuments()) writeFileSync(new URL(`../../${path}`, import.meta.url), text);

// The release of a version makes its document the one that later versions must not break.
if (process.argv.includes('--release')) {
  const path = new URL('../http/openapi/last-version.json', import.meta.url);
  writeFileSync(path, `${JSON.stringify(committedDocument())}\n`);
}
