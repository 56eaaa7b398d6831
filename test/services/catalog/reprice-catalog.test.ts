import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { costedRequests } from '../../../src/domain/catalog/media-prices.ts';
import { dearestRates } from '../../../src/domain/catalog/chat-prices.ts';
import { tokenClasses } from '../../../src/domain/catalog/token-classes.ts';
import { classPrices } from '../../../src/domain/catalog/token-prices.ts';
import { conditionsOf, mediaCredits } from '../../../src/domain/ledger/pricing.ts';
import { cli } from '../../../src/main/cli.ts';
import { readCatalogFiles } from '../../../src/services/catalog/load-catalog.ts';
import { repriceCatalog } from '../../../src/services/catalog/reprice-catalog.ts';

const policy = { markup: 1.25, minimum: 1, creditValue: 1 };
const frozen = await readCatalogFiles('test/support/catalog');
/** Those with the most kinds of prices. */
const some = frozen.filter(({ file }) => /(anthropic|google|xai)\.yaml$/.test(file ?? ''));

const catalog = (text: string) => [{ text }];
const priced = (text: string, own: Partial<typeof policy> = {}): string =>
  repriceCatalog(catalog(text), { ...policy, ...own }).texts[0]?.text ?? '';

const chat = (pricing: string, upstream: string): string => `# Our models.
models:
  - id: chat-1 # the first
    type: chat
    owned_by: us
    display_name: Chat 1
    group: Chat
    capability: chat
    description: null
    status: active
    ${pricing}
    # Nothing below is a price.
    private:
      groups: [chat]
      context_tokens: 400000
      upstream:
        ${upstream}
`;

const video = (rules: string, cost: string): string => `models:
  - id: clip-1
    type: video
    owned_by: us
    display_name: Clip 1
    group: Clip
    capability: video
    description: null
    status: active
    parameters:
      prompt: true
      generate_audio: true
      duration: [5, 10]
      resolution: [720p, 1080p]
      pricingRules: ${rules}
      fields:
        - { key: duration, label: Seconds, type: enum, options: [5, 10], default: 5 }
        - { key: resolution, label: Resolution, type: enum, options: [720p, 1080p], default: 720p }
        - { key: generate_audio, label: Sound, type: boolean, default: true }
    private:
      groups: [clips]
      upstream:
        fal: { model: clip, cost: ${cost} }
`;

describe('a repriced catalog', () => {
  it('has the price of the dearest family for each class of tokens, and keeps every other byte', () => {
    const pricing = (members: string[]): string => ['pricing:', ...members.map((line) => `      ${line}`)].join('\n');
    const upstream = `openai: { model: a, cost: { per_million: { input: 1000000, output: 4000000, cached_input: 100000 } } }
        gemini: { model: b, cost: { per_million: [{ input: 800000, output: 5000000, cached_input: 200000 }, { above_input_tokens: 200000, input: 1600000, output: 7000000 }] } }`;
    const before = chat(
      pricing([
        '# In the unit of the year 2025.',
        'credits_per_1k_input_tokens: 1 # too cheap',
        'credits_per_1k_output_tokens: 2',
      ]),
      upstream,
    );
    expect(priced(before)).toBe(
      chat(
        pricing([
          '# In the unit of the year 2025.',
          'credits_per_1k_input_tokens: 1250 # too cheap',
          'credits_per_1k_cached_input_tokens: 250',
          'credits_per_1k_output_tokens: 6250',
          'long_input:',
          '  above_tokens: 200000',
          '  credits_per_1k_input_tokens: 2000',
          '  credits_per_1k_output_tokens: 8750',
        ]),
        upstream,
      ),
    );
  });

  it('loses the prices of classes that cost what their plain class does, whether in lines or in braces', () => {
    const upstream = 'openai: { model: a, cost: { per_million: { input: 1000000, output: 4000000 } } }';
    const lines = `pricing:
      credits_per_1k_input_tokens: 9
      credits_per_1k_cached_input_tokens: 3
      credits_per_1k_output_tokens: 9
      long_input:
        above_tokens: 5
        credits_per_1k_input_tokens: 4`;
    expect(priced(chat(lines, upstream))).toBe(
      chat('pricing:\n      credits_per_1k_input_tokens: 1250\n      credits_per_1k_output_tokens: 5000', upstream),
    );
    const braces = `pricing: { credits_per_1k_cached_input_tokens: 3, credits_per_1k_input_tokens: 9, credits_per_1k_output_tokens: 9 }`;
    expect(priced(chat(braces, upstream), { minimum: 7 })).toBe(
      chat(
        'pricing: { credits_per_1k_input_tokens: 1250, credits_per_1k_output_tokens: 5000, min_credits_per_request: 7 }',
        upstream,
      ),
    );
  });

  it.each([
    ['first', 'A, B, input, output'],
    ['last', 'input, output, A, B'],
    ['all around', 'A, input, B, output, C, D'],
  ])('loses neighbours in braces: %s', (_where, order) => {
    const own: Record<string, string> = {
      input: 'credits_per_1k_input_tokens',
      output: 'credits_per_1k_output_tokens',
      A: 'credits_per_1k_cached_input_tokens',
      B: 'credits_per_1k_cache_write_tokens',
      C: 'credits_per_1k_cache_write_1h_tokens',
      D: 'long_input',
    };
    const value = (name: string): string =>
      name === 'D' ? '{ above_tokens: 5, credits_per_1k_input_tokens: 4 }' : name === 'input' ? '9' : '10';
    const members = order.split(', ').map((name) => `${own[name]}: ${value(name)}`);
    const upstream = 'openai: { model: a, cost: { per_million: { input: 1000000, output: 4000000 } } }';
    const pricing = (inner: string): string => chat(`pricing: { ${inner} }`, upstream);
    expect(priced(pricing(members.join(', ')))).toBe(
      pricing('credits_per_1k_input_tokens: 1250, credits_per_1k_output_tokens: 5000'),
    );
  });

  it('replaces rules of a JSON list of which none stays', () => {
    const rule = (value: number, sound: boolean) =>
      `{ "match": { "key": "duration", "value": ${value}, "all": [{ "key": "generate_audio", "value": ${sound} }] }, "credits": 1 }`;
    const rules = `[${[rule(5, true), rule(5, false), rule(10, true), rule(10, false)].join(', ')}]`;
    const plain = (value: number, credits: number) =>
      `{"match":{"key":"duration","value":${value}},"credits":${credits}}`;
    expect(priced(video(rules, '{ per_second: 200 }'))).toBe(
      video(`[${plain(5, 1_250)}, ${plain(10, 2_500)}]`, '{ per_second: 200 }'),
    );
  });

  it('has further rules for media requests that cost much less, after the rule of their value', () => {
    const cost = '[{ when: { generate_audio: false }, per_second: 100 }, { per_second: 200 }]';
    const rules = (lines: string[]): string => ['', ...lines.map((line) => `        ${line}`)].join('\n');
    const before = rules([
      '# Short clips.',
      '- { match: { key: duration, value: 5 }, credits: 1 }',
      '# Long clips.',
      '- { match: { key: duration, value: 10 }, credits: 2 } # too cheap',
      '- { match: { key: duration, value: 10, all: [{ key: resolution, value: 720p }] }, credits: 1 }',
    ]);
    expect(priced(video(before, cost))).toBe(
      video(
        rules([
          '# Short clips.',
          '- { match: { key: duration, value: 5 }, credits: 1250 }',
          '- { match: { key: duration, value: 5, all: [{ key: generate_audio, value: false }] }, credits: 625 }',
          '# Long clips.',
          '- { match: { key: duration, value: 10 }, credits: 2500 } # too cheap',
          '- { match: { key: duration, value: 10, all: [{ key: generate_audio, value: false }] }, credits: 1250 }',
        ]),
        cost,
      ),
    );
  });

  it('does not change when it is repriced again, and comes back from any other policy, as YAML and as JSON', () => {
    const first = repriceCatalog(some, policy);
    expect(repriceCatalog(first.texts, policy).texts).toEqual(first.texts);
    const json = JSON.stringify({ data: first.before.map(({ model, private: own }) => ({ ...model, private: own })) });
    const other = { markup: 3.1, minimum: 2, creditValue: 7_777 };
    for (const texts of [some, catalog(json)]) {
      const away = repriceCatalog(texts, other);
      expect(repriceCatalog(away.texts, policy).after).toEqual(first.after);
    }
    expect(() => void JSON.parse(repriceCatalog(catalog(json), other).texts[0]?.text ?? '')).not.toThrow();
  });

  it('sells no request below its cost times the markup, nor by more than rounding and one fifth above it', () => {
    const anyPolicy = fc.record({
      markup: fc.integer({ min: 1_000, max: 4_000 }).map((thousandths) => thousandths / 1_000),
      minimum: fc.integer({ min: 1, max: 5 }),
      creditValue: fc.constantFrom(1, 10, 333, 10_000),
    });
    fc.assert(
      fc.property(anyPolicy, (own) => {
        const holds = (credits: number, cost: number, spread: number): void => {
          const least = (cost * own.markup) / own.creditValue;
          expect(credits).toBeGreaterThanOrEqual(least - 1e-6);
          expect(credits).toBeLessThanOrEqual(Math.max(own.minimum, Math.ceil(least) * spread + 1));
        };
        for (const entry of repriceCatalog(some, own).after) {
          const rules = entry.model.parameters.pricingRules ?? [];
          if (entry.model.type === 'chat') {
            const rates = dearestRates(entry, 'usual');
            const prices = classPrices(entry.model.pricing, 0);
            for (const tokens of tokenClasses)
              holds(prices[`credits_per_1k_${tokens}_tokens`], rates[tokens].cost / 1_000, 1);
          } else {
            const keys = rules.flatMap(({ match }) => conditionsOf(match).map(({ key }) => key));
            // A model without rules has one price, that of its dearest request.
            for (const { request, cost } of costedRequests(entry, keys) ?? [])
              holds(mediaCredits(entry.model, request), cost, rules.length > 0 ? 1.2 : Infinity);
          }
        }
      }),
      { numRuns: 10 },
    );
  });
});

describe('tollgate catalog reprice', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-reprice-'));
    cpSync('test/support/catalog', folder, { recursive: true });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const texts = (): string[] =>
    readdirSync(folder)
      .sort()
      .map((name) => readFileSync(join(folder, name), 'utf8'));
  const reprice = async (...args: string[]) => {
    let printed = '';
    const code = await cli(['catalog', 'reprice', ...args], {}, (text) => (printed += text));
    return { code, printed };
  };

  it.each([
    [['--markup', '0'], '--markup must be a number above 0'],
    [['--markup', '-1.25'], '--markup must be a number above 0'],
    [['--markup', 'much'], '--markup must be a number above 0'],
    [['--markup', '1e3'], '--markup must be a number above 0'],
    [['--markup', 'NaN'], '--markup must be a number above 0'],
    [['--markup', ''], '--markup must be a number above 0'],
    [[], "required option '--markup <number>' not specified"],
    [['--markup', '1.25', '--minimum', '0'], '--minimum must be a whole number'],
    [['--markup', '1.25', '--credit-value', '0.5'], '--credit-value must be a whole number'],
    [
      ['--markup', '1000', '--credit-value', '1'],
      'wan-3: A price of 2000000000 credits is above the highest, 1000000000.',
    ],
  ])('refuses %j with one clear sentence, and writes nothing', async (args, message) => {
    const before = texts();
    const { code, printed } = await reprice(folder, ...args, '--write', '--json');
    expect(code).toBeGreaterThan(0);
    expect(JSON.parse(printed)).toEqual({ error: { message: expect.stringContaining(message) } });
    expect(texts()).toEqual(before);
  });

  it('refuses a folder without a catalog, a path without a file and an invalid catalog, and writes nothing', async () => {
    const other = mkdtempSync(join(folder, 'other-'));
    const refusal = async (path: string) => (await reprice(path, '--markup', '1.25', '--write', '--json')).printed;
    expect(await refusal(other)).toContain('has no *.yaml file');
    expect(await refusal(join(other, 'absent'))).toContain('There is no file');
    const invalid = 'models: [{ id: x }] # as it was\n';
    writeFileSync(join(other, 'a.yaml'), invalid);
    expect(await refusal(other)).toContain('The catalog is invalid');
    expect(readFileSync(join(other, 'a.yaml'), 'utf8')).toBe(invalid);
    rmSync(other, { recursive: true });
  });

  it('shows old and new prices side by side, and changes the files only with --write', async () => {
    const before = texts();
    const args = [folder, '--markup', '1.25', '--credit-value', '1'];
    const { code, printed } = await reprice(...args);
    expect(code).toBe(0);
    expect(printed).toMatch(/^MODEL +PRICE_OF +DEAREST_AT +COST_USD +OLD +NEW +OF_COST\n/);
    expect(printed).toMatch(
      /^claude-opus-5\.5 +1,000 cached input tokens +anthropic +0\.000200 +1 · \S+ +250 · \$0\.00025 +1\.25$/m,
    );
    expect(printed).toContain('Nothing was written. With --write it changes');
    expect(texts()).toEqual(before);

    const written = JSON.parse((await reprice(...args, '--write', '--json')).printed) as Record<string, unknown>;
    expect(written).toMatchObject({ ok: true, written: true, credit_value_micro_usd: 1 });
    expect(written['files']).toHaveLength(before.length);
    expect(texts()).toEqual(repriceCatalog(frozen, policy).texts.map(({ text }) => text));
    const again = JSON.parse((await reprice(...args, '--write', '--json')).printed) as Record<string, unknown>;
    expect(again).toMatchObject({ written: false, files: [] });
  });
});
