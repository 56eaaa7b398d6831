import type { z } from 'zod';
import { limitedReply } from '../../domain/chat/answer-limit.ts';
import { wholeReply } from '../../domain/chat/call-arguments.ts';
import type { ChatReply, UpstreamChat } from '../../domain/chat/chat.ts';
import type { ChatDelta } from '../../domain/chat/chat-stream.ts';
import type { RequestBody, UpstreamCall, UpstreamCaller } from './call-upstream.ts';
import { readChatStream, type EventReader } from '../chat/chat-events.ts';
import type { Adapter, ProviderRef, Upstream } from '../channel.ts';
import { classifyChat, FailedAnswer, readOutcome, toSubmit, type ReadError } from './classify-outcome.ts';
import { modelListBy, ProviderModelList } from './list-models.ts';
import { withTakenTools, type ToolRules } from '../chat/tool-words.ts';

/** A chat reply is text, so one near this size is a fault or an attack (rules "Limits"). */
const chatJsonBytesMax = 8_000_000;
/** All events of a stream. A token takes up to 400 bytes of them, and the longest answers have 128,000. */
const chatStreamBytesMax = 256_000_000;
/** What the calls of one family have in common. */
interface FamilyWords {
  headers: (upstream: Upstream) => Record<string, string>;
  /** Further headers of a chat, by its request. */
  chatHeaders?: (request: UpstreamChat) => Record<string, string>;
  /** What the vendor takes of tools. By default everything. */
  toolRules?: (request: UpstreamChat) => ToolRules;
  readError: ReadError;
}

const anyTools = (): ToolRules => ({ nameRefused: /$^/g, nameMax: Infinity });

/** The calls that families share for chats, probes and lists, with the headers of one family and its way to read errors. */
export function familyCalls(
  caller: UpstreamCaller,
  { headers, chatHeaders = () => ({}), toolRules = anyTools, readError }: FamilyWords,
) {
  /** Sends one call, by default a GET, with the family's headers. */
  const call = (upstream: Upstream, request: Omit<UpstreamCall, 'method'> & Partial<Pick<UpstreamCall, 'method'>>) =>
    caller.call(upstream, { method: 'GET', ...request, headers: { ...headers(upstream), ...request.headers } });

  return {
    call,

    /** `chat` of a family. `toReply` returns null for an unusable 2xx, and `blocked` if the policy refused the prompt. */
    chatBy:
      (
        pathOf: (request: UpstreamChat) => string,
        toBody: (request: UpstreamChat) => RequestBody,
        toReply: (json: unknown, request: UpstreamChat) => ChatReply | 'blocked' | FailedAnswer | null,
      ): Required<Adapter>['chat'] =>
      async (upstream, chat, options) => {
        const { request, reply } = withTakenTools(chat, toolRules(chat));
        const httpRequest = {
          ...options,
          path: pathOf(request),
          body: toBody(request),
          bodyBytesMax: chatJsonBytesMax,
        };
        const outcome = await call(upstream, { method: 'POST', headers: chatHeaders(request), ...httpRequest });
        const attempt = classifyChat(outcome, (json) => reply(whole(toReply(json, request))), readError);
        return attempt.kind === 'ok' ? { ...attempt, value: limitedReply(attempt.value, request.maxTokens) } : attempt;
      },

    chatStreamBy: chatStreamBy(caller, { headers, chatHeaders, toolRules, readError }),

    /** `probe` by a free call such as a list. Only the shape of its answer is checked. */
    probeBy:
      (path: string, shape: z.ZodType): Required<Adapter>['probe'] =>
      async (upstream, { signal }) => {
        const isShaped = (json: unknown): true | null => shape.safeParse(json).success || null;
        return toSubmit(readOutcome(await call(upstream, { path, signal }), isShaped, readError));
      },

    modelListBy: modelListBy(call, readError),

    /** `listModels` by a list in OpenAI's shape and of one page. */
    openaiListBy: (path: string): Required<Adapter>['listModels'] =>
      modelListBy(call, readError)(path, ProviderModelList, ({ data }) => ({
        names: data.map(({ id }) => id),
        next: null,
      })),
  };
}

/** Makes `chatStream` of a family, by the path and the body with which the family is asked for a stream. */
const chatStreamBy =
  (caller: UpstreamCaller, { headers, chatHeaders, toolRules, readError }: Required<FamilyWords>) =>
  (
    pathOf: (request: UpstreamChat) => string,
    toBody: (request: UpstreamChat) => RequestBody,
    read: {
      events: (request: UpstreamChat) => EventReader;
      reply: (json: unknown, request: UpstreamChat) => ChatReply | 'blocked' | FailedAnswer | null;
    },
  ): Required<Adapter>['chatStream'] =>
  async (upstream, chat, { limits, signal }) => {
    const { request, reply, delta } = withTakenTools(chat, toolRules(chat));
    const all = { ...headers(upstream), ...chatHeaders(request) };
    const httpRequest = { path: pathOf(request), body: toBody(request), headers: all };
    const bounds = { limits, signal, bodyBytesMax: chatJsonBytesMax, streamBytesMax: chatStreamBytesMax };
    const outcome = await caller.stream(upstream, { method: 'POST', ...httpRequest, ...bounds });
    return readChatStream(outcome, {
      events: () => withDeltas(read.events(request), delta),
      reply: (json) => reply(whole(read.reply(json, request))),
      error: readError,
      maxTokens: request.maxTokens,
    });
  };

/** The events with each piece changed, or as they are. */
const withDeltas = (events: EventReader, change: ((delta: ChatDelta) => ChatDelta) | null): EventReader =>
  change === null
    ? events
    : {
        ...events,
        read(json) {
          const read = events.read(json);
          return Array.isArray(read) ? read.map(change) : read;
        },
      };

/** An answer that is none if the arguments of its tool calls were cut. */
const whole = (reply: ChatReply | 'blocked' | FailedAnswer | null): ChatReply | 'blocked' | FailedAnswer | null =>
  reply === null || reply === 'blocked' || reply instanceof FailedAnswer ? reply : wholeReply(reply);

/**
 * A method for submitted jobs. It returns `otherwise` if the saved reference is not of this family, because the channel's family
 * was changed while the job ran.
 */
export const onProviderJob =
  <J extends z.ZodType, A, O>(
    reference: J,
    otherwise: A,
    work: (upstream: Upstream, ref: z.infer<J>, options: O) => Promise<A>,
  ) =>
  (upstream: Upstream, providerRef: ProviderRef, options: O): Promise<A> => {
    const parsed = reference.safeParse(providerRef);
    return parsed.success ? work(upstream, parsed.data, options) : Promise.resolve(otherwise);
  };
