import { ensureChannel } from '../../../packages/dev-stack/src/ensure-channel.ts';
import { testConfig } from '../../support/test-config.ts';
import { createSealer } from '../../../src/platform/crypto/seal.ts';
import { completion, goodAnswer, reply, startChatUpstream } from '../../support/chat-upstream.ts';
import { eventually } from '../../support/eventually.ts';
import type { Gateway } from '../../support/gateway.ts';

/** A channel that answers when the test releases it, for tests in which a call must last longer than something else. */
export interface HeldChannel {
  /** The number of chats received since `hold`. */
  chats(): number;
  /** Holds all answers back. The returned function sends them and stops holding back. */
  hold(): () => void;
  /** Makes all later answers report this usage. Called without one, they report the usual usage again. */
  reports(usage?: object): void;
  /** Resolves once `count` chats are received. */
  holds(count: number): Promise<unknown>;
  close(): Promise<void>;
}

/** Fields of a chat to this channel; an answer costs one credit. */
export const heldModel = { model: 'deepseek-v3.2' };
const group = 'openrouter';

export async function openHeldChannel(gateway: Pick<Gateway, 'database' | 'env'>): Promise<HeldChannel> {
  const upstream = await startChatUpstream();
  await openChatChannel(gateway, { name: 'held', group, url: upstream.url });
  return {
    chats: () => upstream.chats.length,
    hold() {
      const answers: (() => void)[] = [];
      upstream.chats.length = 0;
      upstream.serve((request, response) => void answers.push(() => goodAnswer(0)(request, response)));
      return () => {
        upstream.serve(goodAnswer(0));
        for (const answer of answers.splice(0)) answer();
      };
    },
    reports: (usage) =>
      upstream.serve(usage ? (_, response) => reply(response, 200, { ...completion, usage }) : goodAnswer(0)),
    holds: (count) => eventually(() => Promise.resolve(upstream.chats.length === count)),
    close: () => upstream.die(),
  };
}

/** Makes a provider with the wire format of OpenAI the only channel of a group. */
export async function openChatChannel(
  { database, env }: Pick<Gateway, 'database' | 'env'>,
  { name, group: only, url }: { name: string; group: string; url: string },
): Promise<void> {
  await database.query('test-only-channel', 'update channel set groups = array_remove(groups, $1)', [only]);
  await ensureChannel(
    { db: database, sealer: createSealer(testConfig(env).secrets.masterKeys) },
    { name, adapter: 'openai', baseUrl: url, credential: name, groups: [only], priority: 1, weight: 1, actor: 'test' },
  );
}
