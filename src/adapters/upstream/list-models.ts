import { z } from 'zod';
import type { Attempt } from '../../domain/channels/upstream.ts';
import type { CallOutcome } from './call-upstream.ts';
import type { Adapter, CallOptions, ModelNames, Upstream } from '../channel.ts';
import { readOutcome, toSubmit, type ReadError } from './classify-outcome.ts';
import { parsedBy } from '../media/poll.ts';

/** A model list in OpenAI's shape, which Anthropic shares. Only Anthropic's has pages. */
export const ProviderModelList = z.object({
  data: z.array(z.object({ id: z.string() })),
  has_more: z.boolean().nullish().catch(null),
  last_id: z.string().nullish().catch(null),
});

/** OpenRouter, with the longest list that we know, has 600 models. */
const pagesMax = 20;

type Get = (upstream: Upstream, call: { path: string } & Pick<CallOptions, 'signal'>) => Promise<CallOutcome>;

/** `listModels` of a family. `read` returns the names of one page, and the path of the next one unless the list ends. */
export const modelListBy =
  (get: Get, readError: ReadError) =>
  <S extends z.ZodType>(
    path: string,
    shape: S,
    read: (page: z.infer<S>) => { names: string[]; next: string | null },
  ): Required<Adapter>['listModels'] =>
  async (upstream, { signal }): Promise<Attempt<ModelNames>> => {
    const names = new Set<string>();
    let next: string | null = path;
    for (let pages = 0; next !== null && pages < pagesMax; pages++) {
      const outcome = await get(upstream, { path: next, signal });
      const page: Attempt<z.infer<S>> = toSubmit(readOutcome(outcome, parsedBy(shape), readError));
      if (page.kind !== 'ok') return page;
      const { names: found, next: following } = read(page.value);
      for (const name of found) names.add(name);
      next = following;
    }
    return { kind: 'ok', value: { names, isComplete: next === null && names.size > 0 } };
  };
