import type { Reply } from './family.ts';
import type { Hit } from './hits.ts';

/** A call whose reply is changed. */
export interface OddCall {
  family: string;
  kind: Hit['kind'];
  /** Which poll of the job this is, from 1. */
  count: number;
  status: number;
  /** The address of the job's first result, also where the family's own answer has none. */
  fileUrl: string;
}

/** One form in which a provider, or a gateway before it, is known to answer. */
export interface OddForm {
  form: string;
  /** The families that can answer so. */
  families: readonly string[];
  /** The types of tasks that it is about; all if absent. */
  types?: readonly ('image' | 'video')[];
  /** How a task ends that meets it. `next_channel`: nothing was bought, another channel serves it. */
  ends: 'succeeded' | 'upstream_failed' | 'upstream_invalid_response' | 'next_channel';
  about: string;
  /** The form's id of a job, from the sandbox's. */
  toId?: (id: string) => string;
  /** The answer to a poll gives the address of the result, so the family's own route for downloads answers 404. */
  hasOwnAddress?: true;
  change?: (json: unknown, call: OddCall) => { json?: unknown; status?: number };
  /** With `download`: how many requests it takes to get the result. */
  requests?: number;
  /** The answer to a request for a result. */
  download?: (file: ServedFile, request: OddDownload) => Reply;
}

export type ServedFile = Extract<Reply, { kind: 'bytes' }>;

/** A request for a result: which one it is, from 1, and its address without a query. */
export interface OddDownload {
  count: number;
  url: string;
}
