import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { cli } from '../../../src/main/cli.ts';
import { tokenRates } from '../../../src/domain/catalog/upstream-cost.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { compileCache, nodeBinary, projectFolder } from '../../support/program.ts';
import { type ProcessOutput, Refusal, shipped } from './cli-rows.ts';

let books: TestDatabase;
let home: string;
let settings: Record<string, string>;

beforeAll(async () => {
  books = await createTestDatabase();
  home = mkdtempSync(join(tmpdir(), 'tollgate-cli-'));
  settings = {
    DATABASE_URL: books.runtimeUrl,
    KEY_PEPPERS: `p1:${randomBytes(32).toString('base64')}`,
    MASTER_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    // No server listens on this port. Only commands that need Temporal may fail.
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    PUBLIC_BASE_URL: 'https://gateway.example',
    TOLLGATE_HOME: home,
  };
});

afterAll(async () => {
  await books?.drop();
  rmSync(home, { recursive: true, force: true });
});

/** Runs the program in a process of its own, with exactly this environment and the compile cache. */
const spawned = (args: string[], env: Record<string, string> = settings): Promise<ProcessOutput> =>
  execute(nodeBinary, [join(projectFolder, 'src/main/cli.ts'), ...args], env);

/** Runs a command in this process, which is faster, for tests that do not depend on the process. */
async function tollgate(args: string[], env: Record<string, string> = settings): Promise<ProcessOutput> {
  const written: string[] = [];
  const code = await cli(args, env, (text) => written.push(text));
  return { code, stdout: written.join(''), stderr: '' };
}

function execute(file: string, args: string[], env: Record<string, string>): Promise<ProcessOutput> {
  return new Promise((resolve, reject) => {
    const options = { env: { ...compileCache(), ...env }, cwd: home, timeout: 240_000, maxBuffer: 4_000_000 };
    execFile(file, args, options, (error, stdout, stderr) => {
      const code = error ? error.code : 0;
      if (typeof code !== 'number') return reject(new Error(`no exit code: ${stderr}`));
      resolve({ code, stdout, stderr });
    });
  });
}

/** Runs a command with `--json`, expects this exit code, and returns the only JSON document that it printed. */
async function json<T>(
  shape: z.ZodType<T>,
  args: string[],
  { code = 0, env = settings, run = tollgate } = {},
): Promise<T> {
  const output = await run([...args, '--json'], env);
  expect({ code: output.code, stderr: output.stderr }).toEqual({ code, stderr: '' });
  return shape.parse(JSON.parse(output.stdout));
}

const catalogOf = <T>(row: z.ZodType<T>) => z.strictObject({ data: z.array(row), version: z.string() });

describe('tollgate catalog', () => {
  const Applied = z.strictObject({
    added: z.array(z.string()),
    changed: z.array(z.string()),
    removed: z.array(z.string()),
    warnings: z.array(z.string()),
  });

  it('applies the shipped files, shows them in the order of their names, and a second apply changes nothing', async () => {
    await json(Applied, ['catalog', 'apply', shipped]);
    const again = await json(Applied, ['catalog', 'apply', shipped]);
    expect([again.added, again.changed, again.removed]).toEqual([[], [], []]);
    const { data } = await json(catalogOf(z.looseObject({ id: z.string(), private: z.looseObject({}) })), [
      'catalog',
      'show',
    ]);
    expect(data.map(({ id }) => id)).toEqual((await loadCatalog(shipped)).entries.map(({ model }) => model.id));
    const one = await json(z.looseObject({ id: z.string() }), ['catalog', 'show', 'aurora-image-1']);
    const listed = data.find(({ id }) => id === 'aurora-image-1');
    expect(one).toEqual({ ...listed, state: 'active', version: expect.any(String) });
    await json(Refusal, ['catalog', 'show', 'not-sold'], { code: 1 });
  });

  it('applies what it shows', async () => {
    await json(Applied, ['catalog', 'apply', shipped]);
    const shown = await json(catalogOf(z.looseObject({ id: z.string() })), ['catalog', 'show']);
    const file = join(home, 'shown.json');
    for (const content of [shown, { models: shown.data }]) {
      writeFileSync(file, JSON.stringify(content));
      const { added, changed, removed } = await json(Applied, ['catalog', 'apply', file]);
      expect([added, changed, removed]).toEqual([[], [], []]);
    }
  });

  it('checks a file without a database, and reports every error of an invalid one', async () => {
    const env = { TOLLGATE_HOME: home };
    const Checked = z.looseObject({ ok: z.literal(true), models: z.number().min(12), warnings: z.array(z.string()) });
    await json(Checked, ['catalog', 'check', shipped], { env, run: spawned });
    const bad = join(home, 'bad.yaml');
    writeFileSync(bad, 'models:\n  - id: one\n  - id: two\n');
    const Problems = z.strictObject({
      error: z.strictObject({ message: z.string(), problems: z.array(z.looseObject({ model: z.string() })) }),
    });
    const { error } = await json(Problems, ['catalog', 'check', bad], { code: 1, env, run: spawned });
    expect(new Set(error.problems.map(({ model }) => model))).toEqual(new Set(['one', 'two']));
    await json(Refusal, ['catalog', 'check', join(home, 'absent.yaml')], { code: 1, env });
  });

  it('names the margins of every model, and exits 1 if a request costs more than its client pays', async () => {
    const Amounts = { credits: z.int(), price_micro_usd: z.int(), cost_micro_usd: z.int(), margin_micro_usd: z.int() };
    const MarginRow = z.looseObject({ request: z.string(), family: z.string().nullable(), ...Amounts });
    const Checked = z.looseObject({
      ok: z.boolean(),
      credit_value_micro_usd: z.int(),
      data: z.array(
        z.looseObject({
          model: z.string(),
          margins: z.array(MarginRow),
          losses: z.array(MarginRow),
          ratios: z.array(z.unknown()),
          loss_ok: z.object({}),
        }),
      ),
    });
    const frozen = join(projectFolder, 'test/support/catalog');
    const env = { TOLLGATE_HOME: home, CREDIT_VALUE_MICRO_USD: '10000' };
    const { data } = await json(Checked, ['catalog', 'check', frozen], { env });
    const { entries } = await loadCatalog(frozen);
    expect(data.map(({ model }) => model)).toEqual(entries.map(({ model }) => model.id));
    expect(data.filter(({ margins, losses }) => margins.length < 2 || losses.length > 0)).toEqual([]);

    const opus = data.find(({ model }) => model === 'claude-opus-5.5');
    expect(opus?.ratios).toEqual([{ above: null, input: 2.5, cached_input: 50, cache_write: 2, output: 1.5 }]);
    const dear = await spawned(['catalog', 'check', frozen], env);
    expect(dear.stdout).toMatch(/^claude-opus-5\.5 +- +2\.50 +50\.00 +2\.00 +1\.50 +-$/m);
    expect(dear.stdout).toMatch(/^warning: claude-opus-5\.5: cached input is sold for 50\.0 times its cost$/m);
    expect(dear.stdout).not.toMatch(/^warning: claude-opus-5\.5: (input|output|cache write) is sold/m);

    const poor = { ...env, CREDIT_VALUE_MICRO_USD: '100' };
    const loss = await json(Checked, ['catalog', 'check', frozen], { code: 1, env: poor });
    expect(loss).toMatchObject({ ok: false, credit_value_micro_usd: 100 });
    expect(loss.data.some(({ losses }) => losses.length > 0)).toBe(true);
    const output = await spawned(['catalog', 'check', frozen], poor);
    expect(output.stdout).toMatch(
      /^MODEL +REQUEST +FAMILY[^]*\nloss: \S+ at \S+, .*: costs \d+\.\d+ USD and is sold for/,
    );
  });

  it("compares costs with LiteLLM's list, and exits 1 if one differs by more than 1 %", async () => {
    const env = { TOLLGATE_HOME: home, CATALOG_FILE: shipped };
    const Compared = z.strictObject({
      ok: z.boolean(),
      data: z.array(
        z.strictObject({
          model: z.string(),
          family: z.string(),
          key: z.string().nullable(),
          status: z.string(),
          prices: z.array(
            z.strictObject({
              item: z.string(),
              cost_micro_usd: z.number(),
              listed_micro_usd: z.number(),
              differs: z.boolean(),
            }),
          ),
        }),
      ),
    });
    const { entries } = await loadCatalog(shipped);
    const chatEntry = entries.find(
      ({ model, private: hidden }) => model.type === 'chat' && hidden.retired === undefined,
    );
    const [family, mapping] = Object.entries(chatEntry?.private.upstream ?? {})[0] ?? [];
    if (!chatEntry || !mapping) throw new Error('The shipped catalog has no chat model.');
    const rates = tokenRates(mapping.cost)[0];
    const listing = (input: number) => ({
      [mapping.price_key ?? mapping.model]: { input_cost_per_token: input / 1e12 },
      sample_spec: { mode: 'one of chat, embedding' },
    });
    const prices = join(home, 'prices.json');
    const compare = (input: number, code: number) => {
      writeFileSync(prices, JSON.stringify(listing(input)));
      return json(Compared, ['catalog', 'compare', '--prices', prices], { code, env });
    };
    const of = ({ data }: z.infer<typeof Compared>) =>
      data.find((each) => each.model === chatEntry.model.id && each.family === family)?.status;
    const input = rates?.input ?? NaN;
    expect(of(await compare(input, 0))).toBe('equal');
    expect(of(await compare(input * 1.02, 1))).toBe('differs');
    writeFileSync(prices, '[]');
    await json(Refusal, ['catalog', 'compare', shipped, '--prices', prices], { code: 1, env });
  });

  it('sets the costs that differ to the listed ones with --write, each with its source and the day, and changes nothing else', async () => {
    const env = { TOLLGATE_HOME: home, CATALOG_FILE: shipped };
    const prices = join(home, 'listed.json');
    const copy = mkdtempSync(join(home, 'compared-'));
    cpSync(shipped, copy, { recursive: true });
    const listed = {
      'mistral/mistral-large-4': {
        input_cost_per_token: 1.36e-6,
        cache_read_input_token_cost: 1.4e-7,
        source: 'https://example.com/p',
      },
      'gpt-6-luna': { input_cost_per_token: 1e-7, input_cost_per_token_above_272k_tokens: 3e-7 },
      'seedance-2-at-no-family': { output_cost_per_second: 1 },
    };
    writeFileSync(prices, JSON.stringify(listed));
    const today = () => new Date().toISOString().slice(0, 10);
    const days = [today()];
    const written = await json(
      z.looseObject({ ok: z.boolean(), files: z.array(z.string()) }),
      ['catalog', 'compare', copy, '--prices', prices, '--write'],
      { env },
    );
    expect(written.files.map((path) => basename(path))).toEqual(['mistral-ai.yaml', 'openai.yaml']);
    const costOf = async (folder: string, id: string) =>
      (await loadCatalog(folder)).entries.find(({ model }) => model.id === id)?.private.upstream['openai'];
    // It may be midnight meanwhile.
    days.push(today());
    const large = await costOf(copy, 'mistral-large-4');
    expect(large).toMatchObject({
      cost: { per_million: [{ input: 1_360_000, output: 2_100_000, cached_input: 140_000 }] },
      verified: { source: "LiteLLM's listed.json, from https://example.com/p" },
    });
    expect(days).toContain(large?.verified?.on);
    expect(await costOf(copy, 'gpt-6-luna')).toMatchObject({
      cost: { per_million: [{ input: 100_000 }, { above_input_tokens: 272_000, input: 300_000, output: 750_000 }] },
    });
    const lines = (folder: string) => readFileSync(join(folder, 'mistral-ai.yaml'), 'utf8').split('\n');
    const changedLines = lines(copy).filter((line, index) => line !== lines(shipped)[index]);
    expect(changedLines).toEqual([expect.stringContaining('verified:'), expect.stringContaining('cost:')]);
    expect(
      await json(z.looseObject({ ok: z.boolean() }), ['catalog', 'compare', copy, '--prices', prices], { env }),
    ).toMatchObject({ ok: true });
  });

  it('warns of prices that are for another value of a credit, and shows credits with their worth', async () => {
    const cents = { ...settings, CREDIT_VALUE_MICRO_USD: '10000' };
    const warning =
      /^warning: \d+ of \d+ models are sold for more than 5 times their cost\. A credit is worth \$0\.01 here/m;
    expect((await tollgate(['catalog', 'apply', shipped], cents)).stdout).toMatch(warning);
    expect((await tollgate(['catalog', 'apply', shipped])).stdout).not.toContain('times their cost');
    const opus =
      /^claude-opus-5\.5 .* 5,000 · \$0\.005 in, 250 · \$0\.00025 cached, 6,250 · \S+ cache write, 10,000 · \S+ cache write for an hour, 25,000 · \$0\.025 out per 1k /m;
    expect((await tollgate(['catalog', 'list'])).stdout).toMatch(opus);
    const euros = { ...cents, CURRENCY_SIGN: '€' };
    expect((await tollgate(['catalog', 'list'], euros)).stdout).toContain('5,000 · €50.00 in');
  });

  it('applies nothing of an invalid file', async () => {
    await json(Applied, ['catalog', 'apply', shipped]);
    const bad = join(home, 'bad.yaml');
    writeFileSync(bad, 'models: []\n');
    const refused = await spawned(['catalog', 'apply', bad]);
    expect(refused).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(/^tollgate: /) });
    const { data } = await json(catalogOf(z.unknown()), ['catalog', 'show']);
    expect(data.length).toBeGreaterThanOrEqual(12);
  });
});
