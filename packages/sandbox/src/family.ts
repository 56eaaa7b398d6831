import type { IncomingHttpHeaders } from 'node:http';
import type { Hit, Hits } from './hits.ts';
import type { StreamedAnswer } from './chat-stream.ts';
import type { ProviderJobs } from './provider-jobs.ts';
import type { FailKind, Scripting } from './script.ts';

/** The wire format of one provider family: takes a call, returns a reply. */
export type Family = (call: FamilyCall) => Reply | Promise<Reply>;

/** The state of a sandbox, the same for all families. */
export interface SandboxState {
  hits: Hits;
  providerJobs: ProviderJobs;
  scripting: Scripting;
  /** The provider's names of the models that a family sells. */
  models: (family: string) => Promise<readonly string[]>;
}

export interface FamilyCall extends SandboxState {
  channel: string;
  family: string;
  method: string;
  /** The path after `/{channel}/{family}`, as sent. Starts with a slash. */
  path: string;
  search: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: string;
  /** What the call was listed as (`recordHit`). */
  heard?: { kind: Hit['kind']; prompt: string };
  /** `http://…/{channel}/{family}`, for URLs in replies. */
  baseUrl: string;
}

export type WireFault = Extract<FailKind, 'forbidden' | 'hang' | 'stall' | 'reset' | 'malformed' | 'empty' | 'huge'>;

export type Reply =
  | { kind: 'json'; status: number; json: unknown; headers?: Record<string, string> }
  /** A file. `cut`: the connection is closed after half of it. */
  | { kind: 'bytes'; type: string; bytes: Buffer; cut?: true }
  | { kind: 'fault'; fault: WireFault }
  | ({ kind: 'stream' } & StreamedAnswer)
  /** A function is called when the delay is over. */
  | { kind: 'later'; ms: number; reply: Reply | (() => Reply) };

/** A reply in JSON. By default a 429 has a `Retry-After` of 7 s. */
export const json = (
  status: number,
  value: unknown,
  headers: Record<string, string> = status === 429 ? { 'retry-after': '7' } : {},
): Reply => ({ kind: 'json', status, json: value, headers });

/** A family's replies to scripted failures. */
export type Refusals = Partial<Record<FailKind, Reply>>;

const faults: readonly FailKind[] = [
  'forbidden',
  'hang',
  'stall',
  'reset',
  'malformed',
  'empty',
  'huge',
] satisfies WireFault[];
const isWireFault = (fail: FailKind): fail is WireFault => faults.includes(fail);

/** The reply of a scripted failure: a fault of the connection, or the family's words. Undefined if the call goes on. */
export function scriptedRefusal(fail: FailKind | undefined, refusals: Refusals): Reply | undefined {
  if (fail === undefined) return undefined;
  if (isWireFault(fail)) return { kind: 'fault', fault: fail };
  // Only OpenRouter, which speaks OpenAI's format, flags with a status of its own.
  return refusals[fail] ?? (fail === 'flagged' ? refusals.refused : undefined);
}

/** Lists a call under a prompt. Returns the idempotency key that the provider would store: its own field, or the header. */
export function recordCall(call: FamilyCall, kind: Hit['kind'], prompt: string, ownKey?: string): string | null {
  return recordHit(call, kind, prompt, ownKey).idempotency_key;
}

/** Lists a call under a prompt, as `recordCall` does. */
export function recordHit(call: FamilyCall, kind: Hit['kind'], prompt: string, ownKey?: string): Hit {
  const { channel, family, method, path, headers } = call;
  call.heard = { kind, prompt };
  const header = headers['idempotency-key'];
  const key = ownKey ?? (typeof header === 'string' ? header : null);
  return call.hits.record({ channel, family, route: `${method} ${path}`, kind, idempotency_key: key }, prompt);
}

/** In a model's name: a model that no family sells, so that a list without it and a call that fails can be tried. */
const unsold = /misspelt|retired/;

/** Whether the sandbox knows a model. It answers any name but those that say that they are wrong. */
export const isOffered = (model: string): boolean => !unsold.test(model);

/** One page of a family's model list, from the name after `after`. */
export async function listPage(
  call: FamilyCall,
  { limit, after }: { limit: string | null; after: string | null },
): Promise<{ names: string[]; more: string | null }> {
  const all = ['sandbox-chat', ...(await call.models(call.family))].filter(isOffered);
  const start = after === null ? 0 : all.indexOf(after) + 1;
  const size = Math.min(Math.max(Number(limit ?? listMax) || listMax, 1), listMax);
  const names = all.slice(start, start + size);
  return { names, more: start + size < all.length ? (names.at(-1) ?? null) : null };
}

/** As Anthropic and Gemini bound a page. */
const listMax = 1_000;
