import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createEarlyHangUps } from '../../../src/services/chat/state/early-hang-ups.ts';
import { createLiveChats, type LiveChats } from '../../../src/services/chat/state/live-chats.ts';
import { createLostChats } from '../../../src/services/chat/state/lost-chats.ts';
import { createRetryBudget } from '../../../src/services/chat/state/retry-budget.ts';
import { createUndeliveredChats } from '../../../src/services/chat/state/undelivered-chats.ts';
import type { Database } from '../../../src/db/database.ts';
import { verifyLedger } from '../../../src/db/ledger/verify-ledger.ts';
import { chatRoutes } from '../../../src/http/routes/chat.ts';
import type { Built } from '../../../src/main/build-deps.ts';
import { createFairBudget, type FairBudget } from '../../../src/platform/fair-budget.ts';
import { createSandbox, type Sandbox } from '../../../packages/sandbox/src/create-sandbox.ts';
import { chatFacts, type ChatFacts } from '../../services/chat/chats.ts';
import { stream, streamHits, streamedModels, type Streamed } from '../../services/chat/streams.ts';
import { buildQuietDeps } from '../../support/built-deps.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { quickSettings } from '../../support/gateway-settings.ts';
import { leadChannelsTo } from '../../support/lead-channels.ts';
import { createOperator, type TestProject } from '../../support/operator.ts';
import { startFrame, type Frame } from '../support.ts';

let scratch: TestDatabase;
let db: Database;
let built: Built;
let sandbox: Sandbox;
let project: TestProject;
let frame: Frame;
let liveChats: LiveChats;
let slots: FairBudget;

beforeAll(async () => {
  [scratch, sandbox] = await Promise.all([
    createTestDatabase({ template: process.env['TEST_GATEWAY_TEMPLATE'] }),
    createSandbox(),
  ]);
  db = await scratch.open();
  await leadChannelsTo(sandbox.url, db);
  await db.query(
    'test-let-stream',
    `update model set entry = jsonb_set(entry, '{parameters,stream}', 'true') where id = $1`,
    [streamedModels.openai],
  );
  built = await buildQuietDeps(scratch.url);
  const operator = createOperator(db, { ...quickSettings, DATABASE_URL: scratch.url, EGRESS_ALLOW_CIDRS: '' });
  project = await operator.project({ credits: 1_000_000 });
});
afterAll(async () => {
  await built?.close();
  await sandbox?.close();
  await scratch?.drop();
});

/** A server with one place for streams, whose providers write on when their reader leaves. */
async function startServer({ drainSeconds }: { drainSeconds: number }): Promise<void> {
  const { deps } = built;
  const { stopsAtHangUp: _, ...writingOn } = deps.adapters['openai'] ?? {};
  const undelivered = createUndeliveredChats(deps);
  liveChats = createLiveChats(deps);
  slots = createFairBudget({ total: 1, message: 'The only place for a stream is taken.' });
  const chatDeps = {
    ...deps,
    config: { ...deps.config, chat: { ...deps.config.chat, silenceSeconds: drainSeconds } },
    adapters: { ...deps.adapters, openai: writingOn },
    earlyHangUps: createEarlyHangUps(),
    lostChats: createLostChats(deps),
    retryBudget: createRetryBudget({ floor: 20, share: 0.2 }),
    undelivered,
    liveChats,
    streamSlots: slots,
  };
  frame = await startFrame({
    routes: chatRoutes(chatDeps),
    deps: { authenticate: (secret) => deps.keys.find(secret) },
  });
}
async function stopServer(): Promise<void> {
  await frame.close({ drainSeconds: 5, interrupt: () => liveChats.interrupt() });
  liveChats.close();
}
beforeEach(() => startServer({ drainSeconds: 60 }));
afterEach(async () => {
  await stopServer();
  expect(await verifyLedger(db, 60)).toMatchObject({ ok: true });
});

let prompts = 0;
/** A prompt that no other test sends, with a script for the sandbox. */
const scripted = (script: string): string => `Hang up ${(prompts += 1)} [[${script}]]`;

/** Reads ten tokens of a streamed chat and hangs up. */
const hangUp = (text: string): Promise<Streamed> =>
  stream(
    { baseUrl: frame.url },
    project.apiKey,
    { text },
    {
      fields: { max_tokens: 4_000 },
      leaveWhen: (soFar) => soFar.text.split(' ').length >= 10,
    },
  );

const endOf = ({ requestId }: Streamed): Promise<ChatFacts> =>
  eventually(async () => {
    const facts = await chatFacts({ database: db }, requestId);
    return facts?.state === 'held' ? null : facts;
  });

const hitOf = async (text: string) => (await streamHits({ sandboxUrl: sandbox.url }, text))[0];

describe('a client that leaves a provider which writes on', () => {
  it('is charged by the counts that come with the end of the answer', async () => {
    const text = scripted('tokens=200 rate=40 usage=7,777');
    const left = await hangUp(text);
    expect(left.isDone).toBe(false);
    expect(await endOf(left)).toMatchObject({
      state: 'settled',
      inputTokens: 7,
      outputTokens: 777,
      usageEstimated: false,
    });
    expect(await hitOf(text)).toMatchObject({ sent: 200 });
    expect(await hitOf(text)).not.toHaveProperty('left_at');
  });

  it('gives its place to another stream while the provider is still read', async () => {
    const text = scripted('tokens=4000 rate=20');
    const left = await hangUp(text);
    await eventually(() => {
      const slot = slots.open('prj_another');
      const isFree = slot.mayTake(1);
      slot.release();
      return Promise.resolve(isFree);
    });
    expect(await hitOf(text)).not.toHaveProperty('left_at');
    expect(await chatFacts({ database: db }, left.requestId)).toMatchObject({ state: 'held' });
  });

  it('is charged as far as was written once that has lasted for its limit', async () => {
    await stopServer();
    await startServer({ drainSeconds: 4 });
    const text = scripted('tokens=4000 rate=20');
    const facts = await endOf(await hangUp(text));
    const { sent = 0 } = await eventually(async () => {
      const hit = await hitOf(text);
      return hit?.left_at === undefined ? null : hit;
    });
    expect(sent).toBeLessThan(4_000);
    expect(facts).toMatchObject({ state: 'settled', usageEstimated: true });
    expect(facts.outputTokens).toBeGreaterThan(10);
    expect(facts.outputTokens).toBeLessThanOrEqual(Math.ceil(sent * 1.15));
  });

  it('is charged as far as was written when the server stops', async () => {
    const text = scripted('tokens=4000 rate=20');
    const left = await hangUp(text);
    await frame.close({ drainSeconds: 5, interrupt: () => liveChats.interrupt() });
    const facts = await endOf(left);
    expect(facts).toMatchObject({ state: 'settled', usageEstimated: true });
    expect(facts.outputTokens).toBeGreaterThanOrEqual(9);
    expect((await hitOf(text))?.sent).toBeLessThan(4_000);
  });
});
