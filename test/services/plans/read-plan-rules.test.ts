import { describe, expect, it } from '@jest/globals';
import { readPlanRules } from '../../../src/services/plans/read-plan-rules.ts';

const rule = (more: object) => JSON.stringify([{ models: '*', ...more }]);
const multiplierRefusal =
  'has a mistake in rule 1: multiplier must be a number above 0 and up to 1000 with at most 6 decimal places';
const priceRefusal = 'credits_per_1k_input_tokens must be a whole number from 1 to 1000000000';

describe('the rules of a plan', () => {
  it.each([
    ['JSON', '[{"models": "gpt-*", "multiplier": 1.25}, {"models": "*", "prices": {"credits_per_request": 5}}]'],
    ['YAML', '- models: gpt-*\n  multiplier: 1.25\n- models: "*"\n  prices:\n    credits_per_request: 5\n'],
  ])('are read from %s', (_name, text) => {
    expect(readPlanRules(text)).toEqual({
      rules: [
        { models: 'gpt-*', multiplier: 1.25 },
        { models: '*', prices: { credits_per_request: 5 } },
      ],
    });
  });

  it.each([
    ['a multiplier of zero', rule({ multiplier: 0 }), `${multiplierRefusal}, not 0`],
    ['a negative multiplier', rule({ multiplier: -1.5 }), `${multiplierRefusal}, not -1.5`],
    ['no number in YAML', '- models: "*"\n  multiplier: .nan\n', `${multiplierRefusal}, not NaN`],
    ['an infinite multiplier', '- models: "*"\n  multiplier: .inf\n', `${multiplierRefusal}, not Infinity`],
    ['a multiplier as text', rule({ multiplier: '1.5' }), `${multiplierRefusal}, not 1.5`],
    ['no multiplier', rule({ multiplier: null }), multiplierRefusal],
    ['a multiplier above the largest', rule({ multiplier: 1_001 }), `${multiplierRefusal}, not 1001`],
    ['a multiplier with too many places', rule({ multiplier: 1.0000001 }), `${multiplierRefusal}, not 1.0000001`],
    ['a price of zero', rule({ prices: { credits_per_1k_input_tokens: 0 } }), `${priceRefusal}, not 0`],
    ['a negative price', rule({ prices: { credits_per_1k_input_tokens: -5 } }), `${priceRefusal}, not -5`],
    ['half a credit', rule({ prices: { credits_per_1k_input_tokens: 0.5 } }), `${priceRefusal}, not 0.5`],
    [
      'a price above the safe range',
      rule({ prices: { credits_per_1k_input_tokens: 2 ** 53 } }),
      `${priceRefusal}, not 9007199254740992`,
    ],
    [
      'an unknown price',
      rule({ prices: { credits_per_1k_tokens: 5 } }),
      'prices.credits_per_1k_tokens is not a member',
    ],
    [
      'where long inputs begin',
      rule({ prices: { long_input: { above_tokens: 5 } } }),
      'prices.long_input.above_tokens is not',
    ],
    ['no price', rule({ prices: {} }), 'prices must have at least one price'],
    ['an unknown member', rule({ multiplier: 2, model: 'x' }), 'model is not a member that a rule may have'],
    [
      'both kinds of rule',
      rule({ multiplier: 2, prices: { credits_per_request: 1 } }),
      'either "multiplier" or "prices"',
    ],
    ['neither kind of rule', rule({}), 'either "multiplier" or "prices"'],
    ['no models', '[{"multiplier": 2}]', 'models must be the models that the rule is for'],
    ['empty models', '[{"models": " ", "multiplier": 2}]', 'models must not be empty'],
    ['an unknown type', '[{"models": "type:text", "multiplier": 2}]', 'models must name a type: chat, image, video'],
    ['an unknown prefix', '[{"models": "family:gpt", "multiplier": 2}]', 'models must be a glob of model ids'],
    [
      'a mistake in a later rule',
      '[{"models": "a", "multiplier": 2}, 5]',
      'has a mistake in rule 2: it must be an object',
    ],
    ['an object', '{"models": "*", "multiplier": 2}', 'must be a list of 1 to 200 rules'],
    ['an empty list', '[]', 'must be a list of 1 to 200 rules'],
    ['an empty file', '', 'must be a list of 1 to 200 rules'],
    ['no JSON or YAML', '[{"models": ', 'is not valid JSON or YAML'],
    ['a member twice', '[{"models": "*", "multiplier": 2, "multiplier": 3}]', 'is not valid JSON or YAML'],
    ['an alias of YAML', '- &a {models: "*", multiplier: 2}\n- *a\n', 'is not valid JSON or YAML'],
    [
      'too many rules',
      JSON.stringify(Array(201).fill({ models: '*', multiplier: 2 })),
      'must be a list of 1 to 200 rules',
    ],
    ['too long a text', `# ${'x'.repeat(200_000)}`, 'must have at most 200000 bytes'],
  ])('are refused for %s', (_name, text, message) => {
    expect(readPlanRules(text)).toEqual({ problem: expect.stringContaining(message) });
  });
});
