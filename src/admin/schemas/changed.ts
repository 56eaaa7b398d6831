import { z } from 'zod';

/** False if everything was as asked before. */
export const changed = z.boolean().describe('False if everything was as asked before, so that nothing changed.');

/** Sentences about what is allowed but may be a mistake. */
export const warnings = z.array(z.string()).optional().describe('What is allowed but may be a mistake.');
