import type { IncomingHttpHeaders } from 'node:http';
import type { Hits } from './hits.ts';
import type { MediaJobs } from './media-jobs.ts';
import type { FailKind, Scripting } from './script.ts';

/** One provider family's own wire format: a call in, a reply out. */
export type Family = (parts: FamilyParts, call: FamilyCall) => Promise<Reply>;

export interface FamilyParts {
  hits: Hits;
  jobs: MediaJobs;
  scripting: Scripting;
}

export interface FamilyCall {
  channel: string;
  method: string;
  /** Behind `/{channel}/{family}`, as it was sent; starts with a slash. */
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** `http://…/{channel}/{family}`, for URLs in replies. */
  baseUrl: string;
}

export type WireFault = Extract<FailKind, 'hang' | 'reset' | 'malformed' | 'empty' | 'huge'>;

export type Reply =
  | { kind: 'json'; status: number; json: unknown; headers?: Record<string, string> }
  | { kind: 'bytes'; type: string; bytes: Buffer }
  | { kind: 'fault'; fault: WireFault }
  /** A function is asked when the time has come. */
  | { kind: 'later'; ms: number; reply: Reply | (() => Reply) };

const faults: readonly FailKind[] = ['hang', 'reset', 'malformed', 'empty', 'huge'];
/** Whether a failure is one of the wire, which every family shows in the same way. */
export const isWireFault = (fail: FailKind | undefined): fail is WireFault =>
  fail !== undefined && faults.includes(fail);

/** A reply in JSON. */
export const json = (status: number, value: unknown, headers: Record<string, string> = {}): Reply => ({
  kind: 'json',
  status,
  json: value,
  headers,
});
