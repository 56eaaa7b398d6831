import type { IncomingHttpHeaders } from 'node:http';
import type { Hits } from './hits.ts';
import type { MediaJobs } from './media-jobs.ts';
import type { FailKind, Scripting } from './script.ts';

/** The wire format of one provider family: takes a call, returns a reply. */
export type Family = (parts: FamilyParts, call: FamilyCall) => Promise<Reply>;

export interface FamilyParts {
  hits: Hits;
  jobs: MediaJobs;
  scripting: Scripting;
}

export interface FamilyCall {
  channel: string;
  method: string;
  /** The path after `/{channel}/{family}`, as sent. Starts with a slash. */
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
  /** A function is called when the delay is over. */
  | { kind: 'later'; ms: number; reply: Reply | (() => Reply) };

const faults: readonly FailKind[] = ['hang', 'reset', 'malformed', 'empty', 'huge'];
/** Whether a failure concerns the connection and therefore looks the same in every family. */
export const isWireFault = (fail: FailKind | undefined): fail is WireFault =>
  fail !== undefined && faults.includes(fail);

/** A reply in JSON. */
export const json = (status: number, value: unknown, headers: Record<string, string> = {}): Reply => ({
  kind: 'json',
  status,
  json: value,
  headers,
});
