import { z } from 'zod';
import type { ShadowPair } from '../action-deps.ts';
import { action, option } from '../define-action.ts';
import { rawText, text } from '../input.ts';
import { table } from '../plain-text.ts';

const answer = z.object({
  status: z.int().nullable().describe('Null: the gateway did not answer.'),
  shape: z.string(),
  usd: z.number().nullable().describe('Null: the gateway does not say.'),
});

const ShadowResult = z
  .object({
    requests: z.int(),
    same: z.int(),
    data: z.array(
      z.object({
        request: z.string(),
        same_status: z.boolean(),
        same_shape: z.boolean(),
        same_price: z.boolean(),
        there: answer,
        here: answer,
      }),
    ),
  })
  .meta({ id: 'ShadowResult' });

const url = text().regex(/^https?:\/\//, 'must be an http or https URL');

/** `tollgate shadow`: asks the former gateway and this one the same, before a switch. */
export const shadowAction = action({
  summary: 'send the same requests to another gateway and to this one, and compare status, shape and price',
  input: {
    url: option('<url>', url).describe('address of the other gateway'),
    key: option('<secret>', rawText).describe('key that both gateways accept, as after an import'),
    requests: option('<file>', rawText).describe(
      'a request on each line: {"method": "POST", "path": "/v1/chat/completions", "body": {…}}',
    ),
    here: option('<url>', url.optional()).describe(
      'address of this gateway (default: TOLLGATE_BASE_URL, else that of npm start)',
    ),
  },
  route: { local: 'sends requests of this machine to two gateways' },
  answer: ShadowResult,
  needs: 'shadow',
  async run(deps, { url, key, requests: file, here }) {
    const pairs = await deps.send({ url, key, file, ...(here !== undefined && { here }) });
    const data = pairs.map(compared);
    const same = data.filter((row) => row.same_status && row.same_shape && row.same_price).length;
    const lines = data.map(({ request, there, here: ours, ...row }) => ({
      request,
      status: row.same_status ? there.status : `${there.status ?? 'none'} there, ${ours.status ?? 'none'} here`,
      shape: row.same_shape ? 'same' : 'differs',
      usd_there: there.usd,
      usd_here: ours.usd,
    }));
    return {
      document: { requests: data.length, same, data },
      text: `${table(lines)}\n\n${same} of ${data.length} requests have the same answer.`,
      refused: data.some((row) => !row.same_status),
    };
  },
});

/** Prices within a hundredth are the same: the gateways round differently. */
const priceTolerance = 0.01;

function compared({ request, there, here }: ShadowPair) {
  const isSamePrice =
    there.usd === null ||
    here.usd === null ||
    Math.abs(there.usd - here.usd) <= priceTolerance * Math.max(there.usd, here.usd);
  return {
    request,
    same_status: there.status === here.status,
    same_shape: there.shape === here.shape,
    same_price: isSamePrice,
    there,
    here,
  };
}
