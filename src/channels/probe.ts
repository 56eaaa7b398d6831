import type { z } from 'zod';
import type { UpstreamCaller } from './call-upstream.ts';
import { classifySubmit, type ReadError } from './classify-outcome.ts';
import type { Adapter, Upstream } from './channel.ts';

/** A free call of a family, such as a list. Only the shape of its answer is checked. */
interface FreeCall {
  path: string;
  headers: (upstream: Upstream) => Record<string, string>;
  shape: z.ZodType;
  readError: ReadError;
}

/** Checks with this call whether the provider is reachable and accepts our credential. */
export const probeBy =
  (caller: UpstreamCaller, { path, headers, shape, readError }: FreeCall): Required<Adapter>['probe'] =>
  async (upstream, { signal }) => {
    const outcome = await caller.call(upstream, { method: 'GET', path, headers: headers(upstream), signal });
    return classifySubmit(outcome, (json): true | null => (shape.safeParse(json).success ? true : null), readError);
  };
