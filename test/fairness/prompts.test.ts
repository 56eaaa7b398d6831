import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { all, chat, countVerdicts } from '../services/chat/chats.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { chatUntil, keepOnlyChannel, sendPrompts, stops, troubles } from './prompts-under-attack.ts';

let gateway: Gateway;
let one: TestProject;
let other: TestProject;
beforeAll(async () => {
  gateway = await startGateway({
    apis: 2,
    workers: 0,
    // A call is given ten seconds, because a busy machine may need more than one for a chat that does not hang.
    env: { CHAT_ATTEMPT_TIMEOUT_SECONDS: '10', CHAT_DEADLINE_SECONDS: '30', BREAKER_OPEN_SECONDS: '120' },
  });
  await keepOnlyChannel(gateway);
});
afterAll(() => gateway?.stop());
/** The model of a test. Each has its own, because the health of a channel for a model is still written after the last answer. */
const models = [
  'kimi-k2.6',
  'qwen3.8-flash',
  'gpt-5-mini',
  'deepseek-v3.2',
  'mistral-small-4',
  'mistral-large-4',
  'deepseek-v4-flash',
];
let model: string;
beforeEach(async () => {
  model = models.shift() ?? '';
  [one, other] = await Promise.all([gateway.project({ credits: 100_000 }), gateway.project({ credits: 100_000 })]);
});
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

/** A twentieth of the attack that `test/load` makes: twenty prompts a second, for three seconds. */
const attack = { perSecond: 20, seconds: 3 };

describe('the prompts of one project', () => {
  it.each([
    ['that the provider flags with 403', 'fail=flagged', '400 content_policy_violation', 8],
    ['that the provider answers with a bare 403', 'fail=forbidden', '502 upstream_error', 8],
    ['that time out', 'fail=hang', '504 upstream_timeout', Infinity],
    ['that time out after the start of an answer', 'fail=stall', '504 upstream_timeout', Infinity],
  ])(
    '%s leave the channel available to another project, without an error',
    async (_name, script, verdict, inFlightMax) => {
      await chat(gateway, other.apiKey, 'hello', { baseUrl: gateway.baseUrls[0], fields: { model } });
      const before = troubles(gateway);
      let over = false;
      // The other project chats less often, so its successes alone would not outweigh the failures.
      const attacking = sendPrompts(gateway, { from: one, ...attack, model, inFlightMax, scripts: [script] }).finally(
        () => (over = true),
      );
      const served = await chatUntil(gateway, { from: other, model, clients: 2, pauseMs: 1_000, isOver: () => over });
      expect(await attacking).toEqual({ [verdict]: attack.perSecond * attack.seconds });
      expect(served.verdicts).toEqual({ '200 after 1': served.times.length });
      expect(troubles(gateway)).toBe(before);
      expect(await stops(gateway, model)).toEqual([]);
    },
  );
});

const ask = (from: TestProject, count: number, text: string) =>
  all(count, (n) =>
    chat(gateway, from.apiKey, `${text} ${n}`, { baseUrl: gateway.baseUrls[n % 2], fields: { model } }),
  );

describe('prompts that time out', () => {
  it('trip the channel if they come from two projects', async () => {
    await Promise.all([one, other].map((from) => ask(from, 1, 'hello')));
    // Failures of both that are judged at the same moment do not confirm each other. Those of the next round do.
    await eventually(
      async () => {
        await Promise.all([one, other].map((from) => ask(from, 8, 'slow [[fail=hang]]')));
        return (await stops(gateway, model)).length > 0;
      },
      { secondsMax: 120 },
    );
    expect(await stops(gateway, model)).toEqual([{ modelId: model, reason: 'interrupted' }]);
  });

  it('trip the channel if they come from the only project that uses it', async () => {
    await ask(one, 8, 'slow [[fail=hang]]');
    await eventually(async () => (await stops(gateway, model)).length > 0);
    expect(await stops(gateway, model)).toEqual([{ modelId: model, reason: 'interrupted' }]);
  });

  it('do not trip the channel after the start of an answer, also from two projects', async () => {
    const answers = await Promise.all([one, other].map((from) => ask(from, 8, 'slow [[fail=stall]]')));
    expect(countVerdicts(answers.flat())).toEqual({ '504 upstream_timeout': 16 });
    expect(countVerdicts(await ask(one, 4, 'hello'))).toEqual({ '200': 4 });
    expect(await stops(gateway, model)).toEqual([]);
  });
});
