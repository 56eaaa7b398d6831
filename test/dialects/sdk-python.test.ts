import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { runPython, whyNoPython } from '../sdk/python-client.ts';
import { families, familyNames } from './matrix.ts';
import { weatherPrompts, startSdkScene, type SdkScene } from './sdk-scene.ts';

const Loops = z.record(z.string(), z.object({ cities: z.array(z.string()), text: z.string() }));
const Seen = z.object({
  refusal: z.object({ status: z.number(), type: z.string(), tokens: z.number() }),
  anthropic: Loops,
  responses: Loops,
});

/** Tests of the Python packages `anthropic` and `openai` (responses), which one program uses for all of them. */
const lack = whyNoPython();
(lack === null ? describe : describe.skip)(`the clients for Python${lack ? ` (not tested: ${lack})` : ''}`, () => {
  let scene: SdkScene & { stop(): Promise<void> };
  let seen: z.infer<typeof Seen>;
  beforeAll(async () => {
    scene = await startSdkScene();
    const { gateway, apiKey } = scene;
    const models = Object.values(families);
    const input = { base_url: gateway.baseUrl, api_key: apiKey, models, prompts: weatherPrompts };
    seen = Seen.parse(await runPython('v1_dialects.py', input));
  });
  afterAll(() => scene?.stop());

  describe.each(['anthropic', 'responses'] as const)('%s', (dialect) => {
    it.each(familyNames)('runs an agent loop of several turns with tools and streams: %s', (family) => {
      expect(seen[dialect][families[family]]).toEqual({
        cities: ['Oslo', 'Rome'],
        text: expect.stringMatching(/^Sandbox answer to: /),
      });
    });
  });

  it('read an error and a count of tokens of the Anthropic dialect', () => {
    expect(seen.refusal).toEqual({ status: 404, type: 'not_found_error', tokens: expect.any(Number) });
  });
});
