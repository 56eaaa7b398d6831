import { readFileSync } from 'node:fs';

/** The version of this release. Read without a schema, because `tollgate --version` would load zod for it. */
export const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
