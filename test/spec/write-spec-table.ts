import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { specTable } from './spec-table.ts';

writeFileSync(fileURLToPath(new URL('../../docs/SPEC.md', import.meta.url)), specTable());
