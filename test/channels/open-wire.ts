import { createUpstreamCaller, type UpstreamCaller } from '../../src/channels/call-upstream.ts';
import type { Adapter, CallOptions, MediaRequest, Upstream } from '../../src/channels/channel.ts';
import type { UpstreamChat } from '../../src/domain/chat.ts';
import { createReplyServer, type Asked, type CannedReply } from './reply-server.ts';

export interface WireOptions {
  create: (caller: UpstreamCaller) => Adapter;
  credential: string;
  /** Where the family lies on the channel's origin; at its root when absent. */
  basePath?: string;
  /** What a submit is answered where a test does not say. */
  submitted?: CannedReply;
  /** What a submit asks for where a test does not say: instead of a clip of the model `m`. */
  asks?: Partial<MediaRequest>;
}

/** One adapter, and a reply server in its provider's place: for what a family alone is sent and how it reads the answer. */
export async function openWire({ create, credential, basePath = '', submitted = down, asks = {} }: WireOptions) {
  const replies = await createReplyServer();
  const caller = createUpstreamCaller();
  const adapter = create(caller);
  const upstream: Upstream = { channelId: 'c', baseUrl: `${replies.url}${basePath}`, credential };
  const options = (): CallOptions => ({ signal: AbortSignal.timeout(5_000) });
  const request = (over: Partial<MediaRequest>): MediaRequest => ({
    type: 'video',
    model: 'm',
    prompt: 'a fox',
    parameters: {},
    idempotencyKey: 'att_1',
    ...asks,
    ...over,
  });
  return {
    replies,
    adapter,
    upstream,
    options,
    request,
    /** Submits once, and says what was sent and what the answer came to. */
    async submit(over: Partial<MediaRequest>, answer: CannedReply = submitted) {
      replies.answer(answer);
      const attempt = await adapter.submitMedia?.(upstream, request(over), options());
      return { attempt, ...firstOf(replies.asked) };
    },
    /** Asks once, and says what was sent. */
    async chat(chat: UpstreamChat) {
      replies.answer(down);
      await adapter.chat?.(upstream, chat, options());
      return firstOf(replies.asked);
    },
    async close(): Promise<void> {
      await caller.close();
      await replies.close();
    },
  };
}
export type Wire = Awaited<ReturnType<typeof openWire>>;

const down: CannedReply = { status: 500 };

/** The call that came first, and its body where that is JSON. */
function firstOf([asked]: readonly Asked[]): { asked: Asked; body: unknown } {
  if (!asked) throw new Error('nothing was sent');
  const isJson = asked.headers['content-type'] === 'application/json';
  return { asked, body: isJson ? JSON.parse(asked.body) : undefined };
}
