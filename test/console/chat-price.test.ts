import { expect, it } from '@jest/globals';
import { priceOfChat } from '../../console/src/pages/requests/chat-price.ts';

const pricing = {
  unit: 'tokens',
  credits_per_request: 0,
  credits_per_1k_input_tokens: 300,
  credits_per_1k_cached_input_tokens: 30,
  credits_per_1k_output_tokens: 2_500,
  min_credits_per_request: 1,
};
const chat = {
  model: 'gpt-5-mini',
  credits: { reserved: 9_000, charged: 0, refunded: 0 },
  input_tokens: 2_000,
  output_tokens: 1_000,
  cached_input_tokens: 1_000,
  cache_write_tokens: null,
  cache_write_1h_tokens: null,
  reasoning_tokens: 400,
};
const [input, cached, output, reasoning] = [
  { of: 'input', tokens: 1_000, price: 300, credits: 300 },
  { of: 'cached_input', tokens: 1_000, price: 30, credits: 30 },
  { of: 'output', tokens: 600, price: 2_500, credits: 1_500 },
  { of: 'reasoning', tokens: 400, price: 2_500, credits: 1_000 },
];
const change = (id: number, before: Record<string, unknown>, detail = {}) => ({ id, before, detail });

const cases: { promise: string; charged: number; own?: object; lines: unknown }[] = [
  { promise: 'the prices of the catalog', charged: 2_830, lines: [input, cached, output, reasoning] },
  {
    promise: 'the price before two later changes',
    charged: 2_630,
    own: {
      changes: [
        change(7, { 'gpt-5-mini pricing.credits_per_1k_input_tokens': 100, 'other pricing.long_input': null }),
        change(9, { 'gpt-5-mini pricing.credits_per_1k_input_tokens': 200 }),
      ],
    },
    lines: [{ ...input, price: 100, credits: 100 }, cached, output, reasoning],
  },
  {
    promise: 'no price of a class that got one later',
    charged: 3_100,
    own: { changes: [change(7, { 'gpt-5-mini pricing.credits_per_1k_cached_input_tokens': null })] },
    lines: [input, { ...cached, price: 300, credits: 300 }, output, reasoning],
  },
  {
    promise: 'the prices under the plan of that time',
    charged: 5_660,
    own: { rules: [{ models: 'gpt-*', multiplier: 2 }] },
    lines: [input, cached, output, reasoning].map((line) => ({
      ...line,
      price: 2 * (line?.price ?? 0),
      credits: 2 * (line?.credits ?? 0),
    })),
  },
  {
    promise: 'what the minimum of a request adds',
    charged: 5_000,
    own: { changes: [change(7, { 'gpt-5-mini pricing.min_credits_per_request': 5_000 })] },
    lines: [input, cached, output, reasoning, { of: 'minimum', tokens: null, price: null, credits: 2_170 }],
  },
  { promise: 'nothing that does not explain the charge', charged: 2_831, lines: null },
  {
    promise: 'nothing of a model that was added later',
    charged: 2_830,
    own: { changes: [change(7, { 'gpt-5-mini': null })] },
    lines: null,
  },
  {
    promise: 'nothing where the log left members out',
    charged: 2_830,
    own: { changes: [change(7, {}, { members_omitted: 3 })] },
    lines: null,
  },
];

it.each(cases)('the page of a chat shows $promise', ({ charged, own = {}, lines }) => {
  const entry = { model: { id: 'gpt-5-mini', type: 'chat', parameters: {}, pricing } };
  const facts = { chat: { ...chat, credits: { ...chat.credits, charged } }, entry, changes: [], rules: [], ...own };
  expect(priceOfChat(facts as unknown as Parameters<typeof priceOfChat>[0])).toEqual(lines);
});
