import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createUpstreamCaller, type UpstreamCaller } from '../../src/adapters/upstream/call-upstream.ts';
import { createAdapters } from '../../src/adapters/registry.ts';
import { createSandbox, type Sandbox } from '../../packages/sandbox/src/create-sandbox.ts';

let sandbox: Sandbox;
let caller: UpstreamCaller;
let offered: string[] = [];
beforeAll(async () => {
  sandbox = await createSandbox({ models: () => Promise.resolve(offered) });
  caller = createUpstreamCaller();
});
afterAll(() => Promise.all([sandbox.close(), caller.close()]));

const listOf = (family: string, credential = 'key') =>
  createAdapters(caller)[family]?.listModels?.(
    { channelId: 'chn_1', baseUrl: `${sandbox.url}/sandbox-a/${family}`, credential },
    { signal: AbortSignal.timeout(30_000) },
  );
const models = (count: number) => Array.from({ length: count }, (_, index) => `model-${index}`);

describe('the model list of a family', () => {
  for (const family of ['openai', 'anthropic', 'gemini', 'xai', 'tollgate']) {
    it(`has the provider's names at ${family}, and none that the provider does not sell`, async () => {
      offered = ['a-model', 'a-misspelt-model'];
      const list = await listOf(family);
      expect(list).toEqual({ kind: 'ok', value: { names: new Set(['sandbox-chat', 'a-model']), isComplete: true } });
    });
  }

  it('is read to its last page at Anthropic and at Gemini', async () => {
    offered = models(2_500);
    for (const family of ['anthropic', 'gemini']) {
      const value = { names: new Set(['sandbox-chat', ...offered]), isComplete: true };
      expect(await listOf(family)).toEqual({ kind: 'ok', value });
    }
  });

  it('is not complete after the most pages that are read', async () => {
    offered = models(25_000);
    expect(await listOf('anthropic')).toMatchObject({ kind: 'ok', value: { isComplete: false } });
  });

  it('is an account error if the provider refuses the credential', async () => {
    expect(await listOf('openai', '')).toMatchObject({ errorClass: 'account', status: 401 });
  });

  it('does not exist at fal and Replicate, whose lists are of another API or of all public models', () => {
    const adapters = createAdapters(caller);
    for (const family of ['fal', 'replicate']) expect(adapters[family]).not.toHaveProperty('listModels');
  });
});
