import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { showChat } from '../../../src/services/chat/show/show-chat.ts';
import { completion, ownError, reply, startChatUpstream, type ChatUpstream } from '../../support/chat-upstream.ts';
import { eventually } from '../../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../../support/gateway.ts';
import { openChatChannel } from './held-channel.ts';
import { chat, quickRecovery, requestIdOf } from './chats.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ workers: 0, env: quickRecovery });
});
afterAll(() => gateway?.stop());

/** The only channel of this model is a provider of the test, so that one call decides how a chat ends. */
const model = { model: 'mistral-small-4' };
const group = 'mistral';

type Serve = Parameters<ChatUpstream['serve']>[0];

/** How the provider fails, and the reason on the ledger entry of the chat. */
const failures: readonly { reason: string; when: string; serve: Serve; outcome?: 'incomplete'; isHasty?: true }[] = [
  { reason: 'request_refused', when: 'refuses the request', serve: ownError(400, 'invalid_request') },
  { reason: 'content_policy_violation', when: 'names its policy', serve: ownError(400, 'content_policy_violation') },
  { reason: 'context_length_exceeded', when: 'finds it too long', serve: ownError(400, 'context_length_exceeded') },
  { reason: 'upstream_failed', when: 'answers 500', serve: ownError(500, 'server_error') },
  { reason: 'upstream_failed', when: 'refuses our account', serve: ownError(401, 'invalid_api_key') },
  { reason: 'upstream_failed', when: 'does not know the model', serve: ownError(404, 'model_not_found') },
  { reason: 'upstream_failed', when: 'answers no JSON', serve: (_, response) => void response.end('<html>') },
  { reason: 'upstream_interrupted', when: 'breaks off', serve: (request) => void request.socket.destroy() },
  { reason: 'upstream_timeout', when: 'says that it timed out', serve: ownError(504, 'timeout') },
  { reason: 'upstream_timeout', when: 'never answers', serve: () => undefined, isHasty: true },
  {
    reason: 'empty_answer',
    when: 'answers without content',
    outcome: 'incomplete',
    serve: (_, response) =>
      reply(response, 200, {
        ...completion,
        choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: '' } }],
        usage: { prompt_tokens: 10, completion_tokens: 0, total_tokens: 10 },
      }),
  },
  { reason: 'upstream_rate_limited', when: 'answers 429', serve: ownError(429, 'rate_limit_exceeded') },
];

/** Each reason for which a chat that reaches its only provider is refunded or costs nothing. */
describe('the reason on the ledger entry of a chat', () => {
  let project: TestProject;
  let upstream: ChatUpstream;
  /** An API server that waits for a second. The other waits long enough for a provider on a busy machine. */
  let hastyUrl: string;

  beforeAll(async () => {
    project = await gateway.project({ credits: 1_000 });
    upstream = await startChatUpstream();
    await openChatChannel(gateway, { name: 'only', group, url: upstream.url });
    ({ baseUrl: hastyUrl } = await gateway.startApi({ CHAT_ATTEMPT_TIMEOUT_SECONDS: '1' }));
  });
  afterAll(() => upstream?.die());

  /** What the client's ledger and the operator's command say of a chat that has ended. */
  const endOf = async (requestId: string) => {
    const { body } = await gateway.get(project.apiKey, `/api/v1/ledger?request_id=${requestId}`);
    const { chat: shown, explanation, calls } = await showChat({ db: gateway.database }, requestId);
    const { outcome, reason } = shown;
    return { entries: body['data'], shown: { outcome, reason }, explanation, calls };
  };

  it.each(failures)('is $reason when the provider $when', async ({ serve, reason, outcome = 'refunded', isHasty }) => {
    upstream.serve(serve);
    const baseUrl = isHasty ? hastyUrl : gateway.baseUrl;
    // The channel may still cool down after the failure before.
    const answer = await eventually(async () => {
      const before = upstream.chats.length;
      const one = await chat(gateway, project.apiKey, 'why', { fields: model, baseUrl });
      return upstream.chats.length > before && one;
    });
    const { entries, shown, explanation, calls } = await endOf(requestIdOf(answer));
    expect(entries).toMatchObject([{ kind: outcome === 'incomplete' ? 'settle' : 'refund', credits: 0, reason }]);
    expect(shown).toEqual({ outcome, reason });
    expect(explanation).toMatch(/^[A-Z].*\.$/);
    expect(calls).toMatchObject([{ n: 1, channel: 'only', outcome: expect.any(String) }]);
  });

  it('is upstream_unreachable when the provider does not listen', async () => {
    await upstream.die();
    const answer = await eventually(async () => {
      const one = await chat(gateway, project.apiKey, 'why', { fields: model });
      return one.status === 502 && one;
    });
    expect((await endOf(requestIdOf(answer))).entries).toMatchObject([{ reason: 'upstream_unreachable' }]);
  });
});
