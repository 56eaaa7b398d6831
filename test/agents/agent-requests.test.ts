import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { JsonObject } from '../../src/domain/json.ts';
import { agentPrograms, type AgentProgram } from '../dialects/agent-programs.ts';
import type { AgentTurn } from '../dialects/agent-programs.ts';
import type { DialectName } from '../dialects/matrix.ts';
import { fieldPaths } from './field-paths.ts';
import { programs } from './programs.ts';

const recordedFields = z
  .record(z.string(), z.array(z.string()))
  .parse(JSON.parse(readFileSync(new URL('recorded-fields.json', import.meta.url), 'utf8')));

/** A turn as each dialect answers it, with a signed thought where it has a field for one. */
const turns: Record<DialectName, AgentTurn['turn']> = {
  'chat completions': { tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] },
  messages: [
    { type: 'thinking', thinking: '', signature: 's' },
    { type: 'tool_use', id: 'c', name: 'f', input: {} },
  ],
  responses: [
    { type: 'reasoning', id: 'r', summary: [], encrypted_content: 's' },
    { type: 'function_call', id: 'f', status: 'completed', call_id: 'c', name: 'f', arguments: '{}' },
  ],
  Gemini: { role: 'model', parts: [{ functionCall: { id: 'c', name: 'f', args: {} }, thoughtSignature: 's' }] },
};

/** The fields of the requests of the first and of the second turn. */
const fieldsOf = (program: AgentProgram): string[] => {
  const second = [{ turn: turns[program.dialect], results: [{ callId: 'c', text: 'r' }] }];
  return [[], second].flatMap((before) =>
    fieldPaths(program.body({ model: 'm', prompt: 'p', isStream: true, turns: before }) as JsonObject),
  );
};

describe('the requests that npm test sends', () => {
  it.each(programs.map(({ name }) => [name]))('have every field that was recorded of %s', (name) => {
    const sent = agentPrograms.filter((program) => program.name === name).flatMap(fieldsOf);
    expect((recordedFields[name] ?? ['nothing was recorded']).filter((path) => !sent.includes(path))).toEqual([]);
  });
});
