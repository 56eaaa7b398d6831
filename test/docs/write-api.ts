import { writeFileSync } from 'node:fs';
import { committedDocuments, documentNames, lastVersionOf } from '../http/openapi/shipped-document.ts';
import { apiDocuments } from './api-document.ts';

for (const [path, text] of await apiDocuments()) writeFileSync(new URL(`../../${path}`, import.meta.url), text);

// The release of a version makes its documents those that later versions must not break.
if (process.argv.includes('--release')) {
  const documents = committedDocuments();
  for (const name of documentNames) writeFileSync(lastVersionOf(name), `${JSON.stringify(documents[name])}\n`);
}
