import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { settingsDocument } from './settings-document.ts';

writeFileSync(fileURLToPath(new URL('../../docs/CONFIGURATION.md', import.meta.url)), settingsDocument());
