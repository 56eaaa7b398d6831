import type { IncomingHttpHeaders } from 'node:http';
import type { Hit, Hits } from './hits.ts';
import type { MediaJobs } from './media-jobs.ts';
import type { FailKind, Scripting } from './script.ts';

/** The wire format of one provider family: takes a call, returns a reply. */
export type Family = (call: FamilyCall) => Reply | Promise<Reply>;

/** The state of a sandbox, the same for all families. */
export interface SandboxState {
  hits: Hits;
  jobs: MediaJobs;
  scripting: Scripting;
}

export interface FamilyCall extends SandboxState {
  channel: string;
  family: string;
  method: string;
  /** The path after `/{channel}/{family}`, as sent. Starts with a slash. */
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** `http://…/{channel}/{family}`, for URLs in replies. */
  baseUrl: string;
}

export type WireFault = Extract<FailKind, 'forbidden' | 'hang' | 'stall' | 'reset' | 'malformed' | 'empty' | 'huge'>;

export type Reply =
  | { kind: 'json'; status: number; json: unknown; headers?: Record<string, string> }
  | { kind: 'bytes'; type: string; bytes: Buffer }
  | { kind: 'fault'; fault: WireFault }
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
  const { channel, family, method, path, headers } = call;
  const header = headers['idempotency-key'];
  const key = ownKey ?? (typeof header === 'string' ? header : null);
  call.hits.record({ channel, family, route: `${method} ${path}`, kind, idempotency_key: key }, prompt);
  return key;
}
