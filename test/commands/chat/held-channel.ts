import { ensureChannel } from '../../../src/commands/channels/ensure-channel.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { createSealer } from '../../../src/platform/crypto/seal.ts';
import { goodAnswer, startChatUpstream } from '../../support/chat-upstream.ts';
import { eventually } from '../../support/eventually.ts';
import type { Gateway } from '../../support/gateway.ts';

/** One chat model of a gateway whose answers come when they are told to: for what must outlast something else. */
export interface HeldChannel {
  /** How many chats came in since `hold`. */
  chats(): number;
  /** Keeps the answers back from now on. What it answers lets them go, those of later chats too. */
  hold(): () => void;
  /** Resolves when so many chats have come in. */
  holds(count: number): Promise<unknown>;
  close(): Promise<void>;
}

/** Fields of a chat for it; an answer costs one credit. */
export const heldModel = { model: 'deepseek-v3.2' };
const group = 'deepseek';

export async function openHeldChannel({ database, env }: Pick<Gateway, 'database' | 'env'>): Promise<HeldChannel> {
  const upstream = await startChatUpstream();
  await database.query({ name: 'test-held', text: 'update channel set groups = array_remove(groups, $1)' }, [group]);
  await ensureChannel(
    { db: database, sealer: createSealer(loadConfig(env).secrets.masterKeys) },
    {
      name: 'held',
      adapter: 'openai',
      baseUrl: upstream.url,
      credential: 'held',
      groups: [group],
      priority: 1,
      weight: 1,
      actor: 'test',
    },
  );
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
    holds: (count) => eventually(() => Promise.resolve(upstream.chats.length === count)),
    close: () => upstream.die(),
  };
}
