import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../src/domain/json.ts';
import { agentPrograms, type AgentProgram, type AgentTurn } from './agent-programs.ts';
import { listAt, objectAt, parsed, textAt } from './json-at.ts';
import { dialects, families, familyNames, type FamilyName } from './matrix.ts';
import { eventsIn, hitsOf, startSdkScene, type SdkScene } from './sdk-scene.ts';

let scene: SdkScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startSdkScene();
});
afterAll(() => scene?.stop());

const cases = familyNames.flatMap((family) => [false, true].map((isStream) => ({ family, isStream })));

/** Requests of the shape that programs send, at every family, whole and streamed, over three turns with two calls each. */
describe.each(agentPrograms)('$name', (program) => {
  it.each(cases)('works over three turns with $family (streamed: $isStream)', async ({ family, isStream }) => {
    const { tool } = program;
    const script = tool ? `[[tool=${tool.name} calls=2 args=${JSON.stringify([tool.args, tool.args])}]]` : '';
    const prompt = `${program.name} ${family} ${isStream} ${script}`;
    const turns: AgentTurn[] = [];
    for (const _round of tool ? [1, 2] : []) {
      const { calls, turn } = await sendAs(program, { family, isStream, prompt, turns }, scene);
      expect(calls).toMatchObject([tool, tool].map((one) => ({ name: one?.name, arguments: one?.args })));
      turns.push({ turn, results: calls.map(({ id }, index) => ({ callId: id, text: `result ${index}` })) });
    }
    const ids = turns.flatMap(({ results }) => results.map(({ callId }) => callId));
    expect(new Set(ids).size).toBe(ids.length);
    const last = await sendAs(program, { family, isStream, prompt, turns }, scene);
    expect(last.calls).toEqual([]);
    expect(last.text).toMatch(/Sandbox answer to|"sandbox"/);
    expect((await hitsOf(scene.gateway, prompt)).at(-1)?.results ?? 0).toBe(ids.length);
  });
});

async function sendAs(
  program: AgentProgram,
  { family, ...ask }: { family: FamilyName; isStream: boolean; prompt: string; turns: AgentTurn[] },
  { gateway, apiKey }: SdkScene,
) {
  const client = dialects[program.dialect];
  const request = { ...ask, model: families[family] };
  const response = await fetch(`${gateway.baseUrl}${client.path(request)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...program.headers },
    body: JSON.stringify(program.body(request)),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  expect(response.headers.get('x-tollgate-ignored')?.split(', ').sort() ?? []).toEqual(program.ignored(family));
  const answer = ask.isStream ? client.join(eventsIn(text)) : objectAt(parsed(text));
  const { turn, ...seen } = client.read(answer);
  return { ...seen, turn: turn as AgentTurn['turn'] };
}

describe('tools that only clients of Responses have', () => {
  const schema = { type: 'object', properties: { path: { type: 'string' } } };
  const tools = [
    {
      type: 'namespace',
      name: 'files',
      description: 'Files.',
      tools: [{ type: 'function', name: 'read', parameters: schema }],
    },
    {
      type: 'custom',
      name: 'apply_patch',
      description: 'Edits.',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
    },
    { type: 'web_search', external_web_access: false },
  ];

  async function respond(family: FamilyName, isStream: boolean, input: JsonObject[]): Promise<JsonObject[]> {
    const { gateway, apiKey } = scene;
    const response = await fetch(`${gateway.baseUrl}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: families[family], stream: isStream, tools, input }),
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${response.status} ${text}`);
    expect(response.headers.get('x-tollgate-ignored')).toBe('tools.2.web_search');
    return listAt(isStream ? objectAt(eventsIn(text).at(-1), 'response') : objectAt(parsed(text)), 'output');
  }

  it.each(cases)(
    'a tool of a namespace and one with free text are called together by $family (streamed: $isStream)',
    async ({ family, isStream }) => {
      const script = '[[tool=files__read,apply_patch args=[{"path":"a"},{"input":"x \\"y\\""}]]]';
      const question = { role: 'user', content: `namespace ${family} ${isStream} ${script}` };
      const turn = await respond(family, isStream, [question]);
      const calls = turn.filter(({ type }) => type !== 'reasoning');
      expect(calls).toMatchObject([
        { type: 'function_call', name: 'read', namespace: 'files', arguments: '{"path":"a"}' },
        { type: 'custom_tool_call', name: 'apply_patch', input: 'x "y"' },
      ]);
      const results = calls.map((call) => ({
        type: `${textAt(call, 'type')}_output`,
        call_id: textAt(call, 'call_id'),
        output: 'done',
      }));
      const last = await respond(family, isStream, [question, ...turn, ...results]);
      expect(last.some(({ type }) => type === 'message')).toBe(true);
      expect((await hitsOf(scene.gateway, question.content)).at(-1)?.results).toBe(2);
    },
  );
});
