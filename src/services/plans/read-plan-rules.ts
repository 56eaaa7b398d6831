import { parseDocument } from 'yaml';
import { z } from 'zod';
import { priceMax } from '../../domain/catalog/price-schema.ts';
import { tokenPriceMembers } from '../../domain/catalog/token-prices.ts';
import { quoted } from '../../domain/errors.ts';
import { plainMessage } from '../../domain/plain-message.ts';
import { patternProblem } from '../../domain/plans/model-pattern.ts';
import { multiplierMax, multiplierDecimals, type PlanRule } from '../../domain/plans/plan.ts';

const rulesMax = 200;
const bytesMax = 200_000;

const priceRule = `must be a whole number from 1 to ${priceMax}`;
const price = z.int(priceRule).min(1).max(priceMax);
const tokenPrices = Object.fromEntries(tokenPriceMembers.map((member) => [member, price.exactOptional()])) as Record<
  (typeof tokenPriceMembers)[number],
  z.ZodExactOptional<typeof price>
>;

const multiplierRule = `must be a number above 0 and up to ${multiplierMax} with at most ${multiplierDecimals} decimal places`;
const multiplier = z
  .number(multiplierRule)
  .refine((value) => value > 0 && value <= multiplierMax, multiplierRule)
  .refine((value) => Number(value.toFixed(multiplierDecimals)) === value, multiplierRule);

const models = z
  .string('must be the models that the rule is for')
  .trim()
  .min(1, 'must not be empty')
  .max(200, 'must have at most 200 characters')
  .superRefine((text, context) => {
    const problem = patternProblem(text);
    if (problem !== null) context.addIssue({ code: 'custom', message: problem });
  });

const prices = z
  .strictObject({
    credits_per_request: price.exactOptional(),
    min_credits_per_request: price.exactOptional(),
    ...tokenPrices,
    long_input: z.strictObject(tokenPrices).exactOptional(),
  })
  .refine((named) => Object.keys(named).length > 0, 'must have at least one price');

/** A rule of a plan, as a file has it. */
export const RuleIn = z.union([z.strictObject({ models, multiplier }), z.strictObject({ models, prices })]);

/** The rules of a plan, from a list or from the text of a JSON or YAML file. What is wrong with them is the end of a sentence about them. */
export function readPlanRules(input: unknown): { rules: PlanRule[] } | { problem: string } {
  const list = typeof input === 'string' ? parseText(input) : { content: input };
  if ('problem' in list) return list;
  const { content } = list;
  if (!Array.isArray(content) || content.length === 0 || content.length > rulesMax) {
    return { problem: `must be a list of 1 to ${rulesMax} rules, such as [{"models": "*", "multiplier": 1.25}]` };
  }
  const read = content.map(readRule);
  const problem = read.find((each) => typeof each === 'string');
  return problem === undefined ? { rules: read.filter((each) => typeof each !== 'string') } : { problem };
}

/** A rule, or why it is none. One schema is tried, so that the message is about what the rule has. */
function readRule(item: unknown, index: number): PlanRule | string {
  const refuse = (message: string) => `has a mistake in rule ${index + 1}: ${message}`;
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return refuse('it must be an object');
  const has = (member: string): boolean => Object.hasOwn(item, member);
  if (has('multiplier') === has('prices')) return refuse('it must have either "multiplier" or "prices"');
  const [byMultiplier, byPrices] = RuleIn.options;
  const parsed = has('multiplier') ? byMultiplier.safeParse(item) : byPrices.safeParse(item);
  if (parsed.success) return parsed.data;
  return refuse([...new Set(parsed.error.issues.map((issue) => describeIssue(issue, item)))].join('; '));
}

function describeIssue({ path, ...issue }: z.core.$ZodIssue, item: object): string {
  const name = path.map(String).join('.');
  if (issue.code === 'unrecognized_keys') {
    const unknown = issue.keys.map((key) => quoted([...path.map(String), key].join('.')));
    return `${unknown.join(', ')} is not a member that a rule may have`;
  }
  const value = path.reduce<unknown>((inner, key) => (Object(inner) as Record<PropertyKey, unknown>)[key], item);
  // A message of zod does not name both bounds.
  const message = path.length > 1 ? priceRule : issue.message;
  const isPlain = ['number', 'string', 'boolean'].includes(typeof value);
  const suffix = isPlain ? `, not ${quoted(String(value))}` : '';
  return `${name} ${message}${suffix}`;
}

function parseText(text: string): { content: unknown } | { problem: string } {
  if (Buffer.byteLength(text) > bytesMax) return { problem: `must have at most ${bytesMax} bytes` };
  // JSON is YAML.
  const document = parseDocument(text, { schema: 'core', stringKeys: true, uniqueKeys: true });
  const [syntaxError] = [...document.errors, ...document.warnings];
  if (syntaxError !== undefined) return { problem: `is not valid JSON or YAML: ${syntaxError.message}` };
  try {
    // As in a catalog: nested aliases expand to billions of values.
    return { content: document.toJS({ maxAliasCount: 0 }) };
  } catch (error) {
    return { problem: `is not valid JSON or YAML: ${plainMessage(error)}` };
  }
}
