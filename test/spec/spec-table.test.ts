import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { loadCatalog } from '../../src/services/catalog/load-catalog.ts';
import { toLength, type ChatRequest } from '../../src/domain/chat/chat.ts';
import { withThinkingLength } from '../../src/domain/chat/reasoning.ts';
import { specLines } from './spec-lines.ts';
import { specTable, testsByLine } from './spec-table.ts';

describe('docs/SPEC.md', () => {
  it('has a test for every line of the specification', () => {
    const tests = testsByLine();

    expect(Object.keys(specLines).filter((line) => !tests.has(line))).toEqual([]);
  });

  it('says in a sentence what Tollgate does about each line', () => {
    for (const [line, what] of Object.entries(specLines)) {
      expect({ line, what }).toEqual({ line, what: expect.stringMatching(/\w.{4,}\.$/) });
    }
  });

  it('says which output limit holds for a chat of the shipped models that names none', async () => {
    const { entries } = await loadCatalog('catalog');
    const nothing: ChatRequest = { model: 'm', messages: [], tools: [], extra: {}, ...toLength(undefined) };
    const limits = entries
      .filter(({ model }) => model.type === 'chat')
      .map((entry) => withThinkingLength(nothing, entry.private.max_tokens).maxTokens);
    const [usual, long, longest] = [1_024, 4_096, 8_192].map((limit) => limits.filter((one) => one === limit).length);
    expect(specLines['4.2 max_tokens']).toContain(
      `4096 for ${long} of the ${limits.length} shipped models, 8192 for one.`,
    );
    expect([usual, longest]).toEqual([limits.length - (long ?? 0) - 1, 1]);
  });

  it('is what `npm run docs:spec` writes', () => {
    const document = readFileSync(new URL('../../docs/SPEC.md', import.meta.url), 'utf8');

    expect(document).toBe(specTable());
  });
});
