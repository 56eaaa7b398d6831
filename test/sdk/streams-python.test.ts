import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { streamedModels, streamHits } from '../services/chat/streams.ts';
import { eventually } from '../support/eventually.ts';
import { bufferedModel, startStreamScene, type StreamScene } from './stream-scene.ts';
import { runPython, whyNoPython } from './python-client.ts';

const Broken = z.object({ words: z.number(), code: z.string().nullable() });
const Seen = z.object({ left: z.string(), broken: z.record(z.string(), Broken) }).catchall(
  z.object({
    text: z.object({ words: z.number(), tokens: z.number(), pieces: z.number() }),
    tools: z.object({ called: z.object({ name: z.string(), arguments: z.string() }), text: z.string() }),
  }),
);

const live = streamedModels.openai;
const leftPrompt = 'leave with python [[tokens=2000 rate=50]]';

/** Tests of the Python package `openai`, which one program uses for all of them. */
const lack = whyNoPython();
(lack === null ? describe : describe.skip)(
  `with the openai client for Python${lack ? ` (not tested: ${lack})` : ''}`,
  () => {
    let scene: StreamScene & { stop(): Promise<void> };
    let seen: z.infer<typeof Seen>;
    beforeAll(async () => {
      scene = await startStreamScene();
      const { gateway, apiKey } = scene;
      seen = Seen.parse(
        await runPython('streams.py', {
          base_url: `${gateway.baseUrl}/api/v1`,
          api_key: apiKey,
          models: [...Object.values(streamedModels), bufferedModel],
          live,
          buffered: bufferedModel,
          leave: leftPrompt,
          leave_buffered: 'leave python early [[latency=20000]]',
        }),
      );
    });
    afterAll(() => scene?.stop());

    it.each([...Object.values(streamedModels), bufferedModel])('of %s have text and usage', (model) => {
      expect(seen[model]?.text).toMatchObject({ words: 12, tokens: 12 });
      if (model !== bufferedModel) expect(seen[model]?.text.pieces).toBeGreaterThan(1);
    });

    it.each([...Object.values(streamedModels), bufferedModel])('of %s run a tool over two turns', (model) => {
      expect(seen[model]?.tools).toEqual({
        called: { name: 'weather', arguments: '{"city":"Oslo"}' },
        text: expect.stringMatching(/^Sandbox answer to: weather\?/),
      });
    });

    it('can be left, also before the answer of a model that is not streamed', async () => {
      await eventually(async () => (await streamHits(scene.gateway, leftPrompt))[0]?.left_at);
      expect(seen.left).toBe('cancelled');
    });

    it('that break off are an error after what came before, or instead of an answer that is not streamed', () => {
      expect(seen.broken).toEqual({
        [live]: { words: 10, code: 'upstream_error' },
        [bufferedModel]: { words: 0, code: 'upstream_error' },
      });
    });
  },
);
