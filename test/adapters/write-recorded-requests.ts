import { writeFileSync } from 'node:fs';
import { recordRequests } from './record-requests.ts';

/** Writes the record anew, after a change of the catalog or a wanted change of what an adapter sends. */
writeFileSync(
  new URL('./fixtures/recorded-requests.json', import.meta.url),
  `${JSON.stringify(await recordRequests(), null, 2)}\n`,
);
