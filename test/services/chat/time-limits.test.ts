import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createUpstreamCaller, type UpstreamCaller } from '../../../src/adapters/upstream/call-upstream.ts';
import type { Adapter } from '../../../src/adapters/channel.ts';
import { createAdapters } from '../../../src/adapters/registry.ts';
import type { Config } from '../../../src/config/load-config.ts';
import { ReplyCollector } from '../../../src/domain/chat/chat-stream.ts';
import type { UpstreamChat } from '../../../src/domain/chat/chat.ts';
import { askForLong, askForStream } from '../../../src/services/chat/ask-channel.ts';
import { createReplyServer, type ReplyServer } from '../../adapters/reply-server.ts';
import { beginEvents, familyWires } from '../../support/family-wires.ts';
import { holdTimer, passAfterPause } from '../../support/held-timer.ts';

let replies: ReplyServer;
let caller: UpstreamCaller;
beforeAll(async () => {
  replies = await createReplyServer();
  caller = createUpstreamCaller();
});
afterAll(async () => {
  await caller.close();
  await replies.close();
});

const wire = familyWires.openai;
const counted = { usage: { inputTokens: 10, outputTokens: 90 } };
const [reason = '', ...rest] = wire.end('stop', { input: 10, output: 90 }).split(/(?<=\n\n)/);
const counts = rest.join('');
const request: UpstreamChat = {
  model: 'm',
  messages: [{ role: 'user', content: 'hello' }],
  tools: [],
  maxTokens: 200,
  extra: {},
};
const upstream = () => ({ channelId: 'c', baseUrl: replies.url, credential: 'x' });
const never = new AbortController().signal;
const deadline = () => performance.now() + 120_000;
const adapter = (): Adapter => {
  const { openai } = createAdapters(caller);
  if (!openai) throw new Error('there is no adapter of OpenAI');
  return openai;
};
/** No test ends by these, and no two timers have the same time. */
const chat: Config['chat'] = {
  streamSeconds: 60.001,
  silenceSeconds: 60.002,
  firstByteSeconds: 60.003,
  attemptTimeoutSeconds: 60.004,
  deadlineSeconds: 120,
  attemptLeftMinSeconds: 10,
  holdExtraSeconds: 60,
  streamsMax: 10,
  retriesPerMinuteMin: 20,
};

/** The provider sends its whole answer, and then this process pauses until `pass` is due. */
const answerBeforePause = (pass: () => void): void =>
  replies.answer((_request, response) => {
    beginEvents(response);
    response.end(wire.open(10) + wire.text('word') + reason + counts, () => passAfterPause(pass));
  });

describe('an answer that arrived in time, while the process paused until after a limit', () => {
  it('is whole, if the limit is that of a long answer that the client gets as a whole', async () => {
    answerBeforePause(holdTimer(60_001));
    const attempt = await askForLong(chat)(adapter(), upstream(), request, deadline());
    expect(attempt).toMatchObject({ kind: 'ok', value: { content: 'word', ...counted } });
  });

  it('is whole, if the limit is that of a streamed answer', async () => {
    answerBeforePause(holdTimer(60_001));
    const ends = { left: never, interrupted: never, isThinking: false };
    const attempt = await askForStream(chat, ends)(adapter(), upstream(), request, deadline());
    if (attempt.kind !== 'ok') throw new Error(attempt.detail);
    const collector = new ReplyCollector();
    collector.add(attempt.value.first);
    await attempt.value.rest((pieces) => void collector.add(pieces));
    attempt.value.stop();
    expect(collector.reply()).toMatchObject({ content: 'word', finishReason: 'stop', ...counted });
  });

  it('has its counts, if the limit is that of an answer whose client has left', async () => {
    const hasLeft = new AbortController();
    replies.answer((_request, response) => {
      beginEvents(response);
      response.write(wire.open(10) + wire.text('word'));
      hasLeft.signal.addEventListener('abort', () => {
        response.end(reason + counts, () => passAfterPause(() => pass()));
      });
    });
    let pass = (): void => undefined;
    const ends = { left: hasLeft.signal, interrupted: never, isThinking: true };
    const attempt = await askForStream(chat, ends)(adapter(), upstream(), request, deadline());
    if (attempt.kind !== 'ok') throw new Error(attempt.detail);
    const collector = new ReplyCollector();
    collector.add(attempt.value.first);
    const readOn = attempt.value.follow(collector);
    pass = holdTimer(60_000);
    hasLeft.abort();
    const read = attempt.value.rest((pieces) => {
      collector.add(pieces);
      readOn.heard(pieces);
    });
    // It is left as soon as its counts suffice.
    await read.catch(() => undefined);
    attempt.value.stop();
    expect(collector.hasFinalCounts).toBe(true);
    expect(collector.reply()).toMatchObject(counted);
  });

  it('has its counts, if the limit is that of the wait for them after its reason', async () => {
    const hasReason = Promise.withResolvers<void>();
    const pass = holdTimer(2_000);
    replies.answer((_request, response) => {
      beginEvents(response);
      response.write(wire.open(10) + wire.text('word') + reason);
      void hasReason.promise.then(() => response.write(counts, () => passAfterPause(pass)));
    });
    const limits = { firstByteMs: 60_000, idleMs: 60_000, wholeMs: 60_000 };
    const attempt = await adapter().chatStream?.(upstream(), request, { limits, signal: never });
    if (attempt?.kind !== 'ok') throw new Error(attempt?.detail);
    const collector = new ReplyCollector();
    await attempt.value.each((pieces) => {
      collector.add(pieces);
      if (pieces.some(({ kind }) => kind === 'finish')) hasReason.resolve();
      return undefined;
    });
    expect(collector.reply()).toMatchObject({ finishReason: 'stop', ...counted });
  });
});
