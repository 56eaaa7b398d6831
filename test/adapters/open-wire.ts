import { createUpstreamCaller, type UpstreamCaller } from '../../src/adapters/upstream/call-upstream.ts';
import type { Adapter, CallOptions, MediaRequest, Upstream } from '../../src/adapters/channel.ts';
import type { UpstreamChat } from '../../src/domain/chat/chat.ts';
import { createReplyServer, type ReceivedRequest, type CannedReply } from './reply-server.ts';

export interface WireOptions {
  create: (caller: UpstreamCaller) => Adapter;
  credential: string;
  /** The path of the family on the channel's origin. The default is the root. */
  basePath?: string;
  /** The default reply to a submit. */
  submitted?: CannedReply;
  /** The default request of a submit. Otherwise a clip of the model `m`. */
  defaults?: Partial<MediaRequest>;
}

/** One adapter and a reply server in place of its provider, for tests of one family's requests and replies. */
export async function openWire({ create, credential, basePath = '', submitted = down, defaults = {} }: WireOptions) {
  const replies = await createReplyServer();
  const caller = createUpstreamCaller();
  const adapter = create(caller);
  const upstream: Upstream = { channelId: 'c', baseUrl: `${replies.url}${basePath}`, credential };
  const options = (): CallOptions => ({ signal: AbortSignal.timeout(30_000) });
  const request = (over: Partial<MediaRequest>): MediaRequest => ({
    type: 'video',
    model: 'm',
    prompt: 'a fox',
    parameters: {},
    idempotencyKey: 'att_1',
    ...defaults,
    ...over,
  });
  return {
    replies,
    adapter,
    upstream,
    options,
    request,
    /** Submits once and returns the request that was sent and the result. */
    async submit(over: Partial<MediaRequest>, answer: CannedReply = submitted) {
      replies.answer(answer);
      const attempt = await adapter.submitMedia?.(upstream, request(over), options());
      return { attempt, ...firstOf(replies.received) };
    },
    /** Chats once and returns the request that was sent. */
    async chat(chat: UpstreamChat) {
      replies.answer(down);
      await adapter.chat?.(upstream, chat, options());
      return firstOf(replies.received);
    },
    async close(): Promise<void> {
      await caller.close();
      await replies.close();
    },
  };
}
export type Wire = Awaited<ReturnType<typeof openWire>>;

const down: CannedReply = { status: 500 };

/** The first request, and its body if that is JSON. */
function firstOf([sent]: readonly ReceivedRequest[]): { sent: ReceivedRequest; body: unknown } {
  if (!sent) throw new Error('nothing was sent');
  const isJson = sent.headers['content-type'] === 'application/json';
  return { sent, body: isJson ? JSON.parse(sent.body) : undefined };
}
