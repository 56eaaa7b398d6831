import { mediaRoutes } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import type { Scene, Walk } from './scene.ts';

/** A request that failed: how it is made, and what its page says about the reason and the cost. */
interface Failure {
  what: string;
  /** Returns what its client was told: the id of the request or of the task. */
  make: (scene: Scene) => Promise<string>;
  why: RegExp;
  cost: RegExp;
}

const requestIdOf = ({ headers }: { headers: Headers }): string => headers.get('x-request-id') ?? '';

async function chat({ gateway }: Scene, apiKey: string, content: string, fields: object = {}): Promise<Response> {
  const request = { model: 'claude-haiku-5.5', max_tokens: 64, messages: [{ role: 'user', content }], ...fields };
  const answer = await fetch(`${gateway.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(request),
  });
  await answer.text().catch(() => undefined);
  return answer;
}

const nothingHeld = /before any credits were held: no provider was called, and nothing was charged\./;
const heldAndReturned = /The hold of \d+ credits? was given back, and nothing was charged\./;

const failures: readonly Failure[] = [
  {
    what: 'a chat that its provider refuses',
    make: async (scene) => requestIdOf(await chat(scene, scene.stage.studio.apiKey, 'Refused [[fail=refused]]')),
    why: /The provider's content policy refused the request\./,
    cost: heldAndReturned,
  },
  {
    what: 'a chat that reaches no provider on any channel',
    make: unreachable,
    why: /The provider of the last channel that was called could not be reached\./,
    cost: heldAndReturned,
  },
  {
    what: 'a streamed answer that breaks off',
    async make(scene) {
      const fields = { stream: true };
      const prompt = 'Half an answer [[tokens=50 rate=200 cut=10]]';
      return requestIdOf(await chat(scene, scene.stage.studio.apiKey, prompt, fields));
    },
    why: /The call to the provider broke off before the answer ended\./,
    cost: /What came until then was charged: \d+ credits? of \d+ held\./,
  },
  {
    what: 'a chat with a key that is not valid',
    make: async (scene) => requestIdOf(await chat(scene, 'sk-nobody-has-this-key', 'Hello')),
    why: /The API key is not valid\./,
    cost: nothingHeld,
  },
  {
    what: 'a chat over the rate limit of its key',
    async make(scene) {
      const key = { project: scene.stage.studio.projectId, name: 'Once a minute', rpm: 1 };
      const { api_key: apiKey } = await scene.admin.change('POST', '/keys', key);
      const refused = await eventually(
        async () => {
          const answer = await chat(scene, String(apiKey), 'Hello');
          return answer.status === 429 && answer;
        },
        { what: 'a chat over the limit' },
      );
      return requestIdOf(refused);
    },
    why: /Too many requests\./,
    cost: nothingHeld,
  },
  {
    what: 'a picture that its credits do not pay for',
    async make({ gateway }) {
      const { apiKey } = await gateway.project({ credits: 1 });
      return requestIdOf(
        await gateway.create(apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt: 'A dear picture' }),
      );
    },
    why: /The project does not have enough credits\./,
    cost: nothingHeld,
  },
  {
    what: 'a picture that its provider refuses',
    make: (scene) => picture(scene, { prompt: 'A refused picture [[fail=refused]]' }),
    why: /The provider's content policy refused the request\. The last call, to sandbox-[abc]\S*, ended as refused/,
    cost: heldAndReturned,
  },
  {
    what: 'a picture of which nobody knows whether its provider billed it',
    make: ({ stage }) => Promise.resolve(stage.tasks.unknown),
    why: /It is unknown whether .+ The provider may have billed it\./,
    cost: heldAndReturned,
  },
  {
    what: 'a picture whose callback no receiver takes',
    make: exhausted,
    why: /The callback was given up because all its tries failed \(8 tries, the last without an answer: connect\)\./,
    cost: /The task succeeded\. Credits charged: 4 of 4 held\./,
  },
];

async function picture({ gateway, stage }: Scene, body: object): Promise<string> {
  const { apiKey } = stage.studio;
  const taskId = await gateway.accept(apiKey, mediaRoutes.image, { model: 'aurora-image-1', ...body });
  await gateway.poll(apiKey, taskId);
  return taskId;
}

/** Sends chats until one of them finds all its providers gone. */
async function unreachable(scene: Scene): Promise<string> {
  const { database } = scene.gateway;
  const moved = await database.query<{ id: string; baseUrl: string }>(
    'failure-urls',
    `select id, base_url from channel where adapter = 'anthropic'`,
  );
  await database.query(
    'failure-away',
    `update channel set base_url = 'http://127.0.0.1:1' where adapter = 'anthropic'`,
  );
  try {
    const failed = await eventually(
      async () => {
        const answer = await chat(scene, scene.stage.studio.apiKey, 'Nobody is there');
        return answer.status === 502 && answer;
      },
      { what: 'a chat without a provider' },
    );
    return requestIdOf(failed);
  } finally {
    for (const { id, baseUrl } of moved)
      await database.query('failure-back', 'update channel set base_url = $2 where id = $1', [id, baseUrl]);
  }
}

/** A picture whose callback has failed once, and fails the last time after that. */
async function exhausted(scene: Scene): Promise<string> {
  const { gateway, stage } = scene;
  const taskId = await picture(scene, { prompt: 'A picture nobody hears of', callback_url: 'http://127.0.0.1:1/away' });
  await eventually(
    async () =>
      (
        await gateway.database.query(
          'failure-last-try',
          `update delivery set attempts = 7, next_attempt_at = clock_timestamp() - interval '1 minute'
           where task_id = $1 and attempts > 0 and lease_until is null and state = 'pending' returning id`,
          [taskId],
        )
      ).length === 1,
    { what: 'the first try' },
  );
  // A test that was delayed finds its workflow waiting minutes for the third try.
  await scene.admin.change('POST', '/jobs/process-pending-callbacks/run');
  await gateway.poll(stage.studio.apiKey, taskId, { until: ({ callback }) => callback?.state === 'exhausted' });
  return taskId;
}

/** What a person finds who has nothing but the id that a client was told. */
export const failureWalks: readonly Walk[] = failures.map(({ what, make, why, cost }) => ({
  promise: `opens from its id why it failed and what it cost: ${what}`,
  async walk(scene) {
    const { visit, admin } = scene;
    const { page } = visit;
    const id = await make(scene);
    // Rows about requests without credits are written some moments later.
    await eventually(() => admin.read(`/requests/${id}`).catch(() => false), { what: `the request ${id}` });
    const readReasonAndCost = async (): Promise<void> => {
      const main = page.getByRole('main');
      await main.getByText(why).first().waitFor();
      await main.getByText(cost).first().waitFor();
      await main.getByText('For the customer').waitFor();
    };
    await visit.open('/overview');
    const search = page.getByRole('searchbox', { name: 'Search' });
    await search.fill(id);
    await search.press('Enter');
    await page.waitForURL((url) => !url.pathname.endsWith('/overview'));
    await readReasonAndCost();
    await visit.open(`/requests/${id}`);
    await readReasonAndCost();
  },
}));
