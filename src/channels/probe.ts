import type { z } from 'zod';
import type { UpstreamCaller } from './call-upstream.ts';
import { classifySubmit, type ReadError } from './classify-outcome.ts';
import type { Adapter, Upstream } from './channel.ts';

/** A family's free call: something to list, of whose answer only the shape is looked at. */
interface FreeCall {
  path: string;
  headers: (upstream: Upstream) => Record<string, string>;
  shape: z.ZodType;
  readError: ReadError;
}

/** Asks by that call whether the provider is there and takes our credential. */
export const probeBy =
  (caller: UpstreamCaller, { path, headers, shape, readError }: FreeCall): Required<Adapter>['probe'] =>
  async (upstream, { signal }) => {
    const outcome = await caller.call(upstream, { method: 'GET', path, headers: headers(upstream), signal });
    return classifySubmit(outcome, (json): true | null => (shape.safeParse(json).success ? true : null), readError);
  };
