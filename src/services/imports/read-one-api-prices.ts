import type { OneApiImport } from './one-api-import.ts';
import { countOne, jsonOf, objectOf } from './source-values.ts';

/**
 * The options with ratios, as prices in credits for 1,000 tokens. A ratio of 1 costs one quota a token: 1,000 tokens are 1,000 quota, of which
 * 500,000 are a US dollar. What is not among the options has the default of the program's code, which the database does not have.
 */
export function readOneApiPrices(
  { installation, creditValue }: OneApiImport,
  options: ReadonlyMap<string, string>,
  quotaPerUsd: number,
): void {
  const ratios = (name: string) => numbersIn(options.get(name));
  const inputs = ratios('ModelRatio');
  const outputs = ratios('CompletionRatio');
  const cached = ratios('CacheRatio');
  const creditsPerQuota = 1_000_000 / quotaPerUsd / creditValue;
  const rounded = (credits: number): number => Math.max(1, Math.ceil(Number(credits.toFixed(6))));
  for (const [model, ratio] of inputs) {
    const input = ratio * 1_000 * creditsPerQuota;
    const output = outputs.get(model);
    const cache = cached.get(model);
    installation.prices.set(model, {
      input: rounded(input),
      output: output === undefined ? null : rounded(input * output),
      cachedInput: cache === undefined ? null : rounded(input * cache),
      request: null,
    });
  }
  for (const [model, usd] of ratios('ModelPrice')) {
    const request = rounded((usd * 1_000_000) / creditValue);
    installation.prices.set(model, { input: null, output: null, cachedInput: null, request });
  }
  for (const [group, ratio] of ratios('GroupRatio')) installation.groupRatios.set(group, ratio);
  for (const name of unreadOptions) if (options.has(name)) countOne(installation.leftOut, `option ${name}`);
}

const unreadOptions = ['ImageRatio', 'AudioRatio', 'AudioCompletionRatio', 'GroupGroupRatio', 'TopupGroupRatio'];

const numbersIn = (text: string | undefined): Map<string, number> =>
  new Map(
    Object.entries(objectOf(jsonOf(text ?? null))).flatMap(([name, value]) =>
      typeof value === 'number' && value >= 0 ? [[name, value] as const] : [],
    ),
  );
