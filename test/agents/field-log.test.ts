import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { JsonObject } from '../../src/domain/json.ts';
import { clientsPage } from './clients-page.ts';
import { FieldLog } from './field-log.ts';
import { fieldPaths } from './field-paths.ts';
import { programs } from './programs.ts';

const page = readFileSync(fileURLToPath(new URL('../../docs/CLIENTS.md', import.meta.url)), 'utf8');
const body = {
  model: 'm',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }] }],
  tools: [{ name: 'look', input_schema: { properties: { path: {} } } }],
};

describe('the fields that programs send', () => {
  it('are paths with the type of each part, without what belongs to their tools', () => {
    expect(fieldPaths(body)).toEqual([
      'messages',
      'messages.*.content',
      'messages.*.content.*(text).cache_control',
      'messages.*.content.*(text).cache_control.type',
      'messages.*.content.*(text).text',
      'messages.*.content.*(text).type',
      'messages.*.role',
      'model',
      'tools',
      'tools.*.input_schema',
      'tools.*.name',
    ]);
  });

  it('are listed if no pinned version sends them, with what became of them', () => {
    const log = new FieldLog(JSON.stringify({ a: fieldPaths(body) }));
    const path = '/v1/messages';
    const tools: JsonObject[] = [
      { ...body.tools[0], new_one: true },
      { name: 'b', other: 1 },
    ];
    log.add('b', [
      { path, status: 200, body: { ...body, tools }, ignored: ['tools.0.new_one'] },
      { path, status: 200, body: null, ignored: [] },
    ]);
    expect(log.newFields()).toEqual([
      'b sends tools.*.new_one, which nobody has seen (left out)',
      'b sends tools.*.other, which nobody has seen (taken)',
    ]);
    expect(JSON.parse(log.toText())).toMatchObject({ a: fieldPaths(body), b: expect.arrayContaining(['model']) });
  });
});

describe('docs/CLIENTS.md', () => {
  it('keeps the rows of programs that did not run', () => {
    const [first, second] = programs.map(({ name, package: { version } }) => ({ name, title: `${name} ${version}` }));
    const results = ['Anthropic', 'OpenAI'].map((family) => ({ program: first?.name ?? '', family, outcome: 'odd' }));
    const made = clientsPage(page, results);
    expect(made).toMatch(new RegExp(`\\| ${first?.title} +\\| odd +\\| odd +\\| – +\\| – `));
    expect(clientsPage(made, [])).toBe(made);
    const rowOf = (text: string): string[] =>
      (text.split('\n').find((line) => line.startsWith(`| ${second?.title} `)) ?? '')
        .split('|')
        .map((cell) => cell.trim());
    expect(rowOf(made)).toEqual(rowOf(clientsPage(page, [])));
  });

  it.each(programs.map(({ name }) => [name.replace(/ with .*/, '')]))('says how %s is set up', (name) => {
    expect(page).toContain(`\n## ${name}\n`);
  });
});
