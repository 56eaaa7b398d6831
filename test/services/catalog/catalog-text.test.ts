import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { CatalogError } from '../../../src/services/catalog/catalog-error.ts';
import { catalogBytesMax, loadCatalog, parseCatalog } from '../../../src/services/catalog/load-catalog.ts';
import { chat, image, parse, problemsOf, withMember } from './catalog-entries.ts';

describe('the text of a catalog file', () => {
  it('is refused with all its problems, each with its model and path', () => {
    const problems = problemsOf(() =>
      parse(withMember(image(), 'pricing.unit', 'tokens'), withMember(chat(), 'parameters.messages', false), {
        id: 'broken',
      }),
    );
    expect(problems.some((problem) => problem.startsWith('pic-1 pricing.unit '))).toBe(true);
    expect(problems.some((problem) => problem.startsWith('chat-1 parameters.messages '))).toBe(true);
    expect(problems.some((problem) => problem.startsWith('broken pricing '))).toBe(true);
  });

  it('is refused if two models share an id or an alias', () => {
    const twins = problemsOf(() => parse(image(), image())).join('\n');
    expect(twins).toMatch(/pic-1 id is used by two models/);
    expect(twins).toMatch(/pic-old is an alias of two models/);
  });

  it('is refused if it has the key of a prototype, and leaves the prototype unchanged', () => {
    for (const key of ['__proto__', 'constructor', 'prototype']) {
      const text = `models:\n  - id: x\n    parameters: { ${key}: { polluted: true } }\n`;
      expect(problemsOf(() => parseCatalog(text)).join()).toMatch(`must not have a key "${key}"`);
    }
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  it('is refused if it is not YAML, repeats a key, uses YAML aliases, is nested too deeply or is too large', () => {
    for (const text of [
      '',
      'models: []',
      'models: {}',
      '{',
      '[1]',
      'models: [1]\nmodels: [2]',
      'models: &a [*a, *a]',
      'models: [&a {id: x}, *a]',
      'models: [1]\n---\nmodels: [2]',
      `models: [${'['.repeat(40)}${']'.repeat(40)}]`,
      `models: [1]${' '.repeat(catalogBytesMax)}`,
    ]) {
      expect(problemsOf(() => parseCatalog(text)).length).toBeGreaterThan(0);
    }
  });

  it('is refused if it is larger than the size limit', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'catalog-'));
    try {
      const file = join(folder, 'large.yaml');
      await writeFile(file, '#'.repeat(catalogBytesMax + 10));
      await expect(loadCatalog(file)).rejects.toThrow(CatalogError);
      await writeFile(file, stringify({ models: [image()] }));
      expect((await loadCatalog(file)).entries).toHaveLength(1);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('leaves out what the specification fixes: the parameters of a chat, the unit and the flat prices', () => {
    const { object: _object, pricing: _pricing, ...leanImage } = image();
    const { object: _chatObject, ...leanChat } = chat();
    const models = [
      leanImage,
      { ...leanChat, pricing: { credits_per_1k_input_tokens: 1, credits_per_1k_output_tokens: 2 }, parameters: {} },
    ];
    const full = parse(image(), withMember(chat(), 'parameters.examples', undefined)).entries;
    const [pic, lean] = parse(...models).entries;
    expect(pic).toEqual(full[0]);
    const labels = lean?.model.parameters.fields?.map(({ label, ...field }) => [label.length > 0, field]);
    expect(labels).toEqual(full[1]?.model.parameters.fields?.map(({ label: _label, ...field }) => [true, field]));
    expect({ ...lean?.model, parameters: {} }).toEqual({ ...full[1]?.model, parameters: {} });
  });

  describe('in a folder', () => {
    let folder = '';
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'catalog-'));
      await mkdir(join(folder, 'deeper.yaml-folder'));
      for (const name of ['notes.md', '.a.yaml', '.yaml']) await writeFile(join(folder, name), 'not a catalog');
    });
    afterEach(() => rm(folder, { recursive: true }));
    const write = (name: string, ...models: unknown[]) =>
      writeFile(join(folder, name), stringify({ models }, { aliasDuplicateObjects: false }));

    it('loads every YAML file in the order of the names', async () => {
      await write('b.yaml', image());
      await write('a.yaml', chat());
      expect((await loadCatalog(folder)).entries.map(({ model }) => model.id)).toEqual(['chat-1', 'pic-1']);
    });

    it('streams all chat models that do not say otherwise after one line of defaults', async () => {
      const lean = { ...chat(), parameters: {} };
      await write('a.yaml', lean, withMember(chat(), 'id', 'chat-2'));
      await writeFile(join(folder, 'defaults.yaml'), 'defaults: { stream: true }');
      const { entries } = await loadCatalog(folder);
      expect(entries.map(({ model }) => model.parameters.stream)).toEqual([true, false]);
    });

    it('is refused with the file of each problem, also of names that two files share', async () => {
      await write('a.yaml', withMember(image(), 'pricing.unit', 'tokens'));
      await write('b.yaml', image());
      const error = await loadCatalog(folder).catch((refusal: unknown) => refusal);
      expect(String(error)).toContain(`${join(folder, 'a.yaml')} pic-1 pricing.unit: must be request`);
      expect(String(error)).toContain(`${join(folder, 'b.yaml')} pic-1 id: is used by two models`);
      await writeFile(join(folder, 'b.yaml'), '{');
      await expect(loadCatalog(folder)).rejects.toThrow(`${join(folder, 'b.yaml')} catalog: is not valid YAML`);
    });

    it('is refused if it has no YAML file or its files together are too large', async () => {
      await expect(loadCatalog(folder)).rejects.toThrow('has no *.yaml file');
      for (const name of ['a.yaml', 'b.yaml']) await write(name, withMember(image(), 'id', name));
      await writeFile(join(folder, 'c.yaml'), '#'.repeat(catalogBytesMax - 100));
      await expect(loadCatalog(folder)).rejects.toThrow(`${join(folder, 'c.yaml')} catalog: must have at most`);
    });
  });

  describe('has costs that', () => {
    const costs = (cost: unknown, entry = image()) =>
      problemsOf(() => parse(withMember(entry, 'private.upstream.fal.cost', cost)));
    const chatCosts = (cost: unknown) =>
      problemsOf(() => parse(withMember(chat(), 'private.upstream.openai.cost', cost))).join();

    it('are one rule, or a list of which the first match decides', () => {
      expect(costs({ per_request: 5 })).toEqual([]);
      expect(costs([{ when: { img_size: ['2k'] }, per_image: 5 }, { per_request: 3 }])).toEqual([]);
      expect(costs([]).join()).toMatch(/cost/);
      expect(costs({ per_request: 1, per_image: 1 }).join()).toMatch(/exactly one of per_request/);
      expect(costs({ per_hour: 1 }).join()).toMatch(/per_hour/);
      expect(costs({ per_million: { input: 1, output: 1 } }).join()).toMatch(/must be per_request/);
    });

    it('cover every combination that the family offers', () => {
      const rules = [
        { when: { img_size: '1k' }, per_request: 1 },
        { when: { img_size: '2k', acme_variant: 'pro' }, per_request: 2 },
      ];
      // The variant has no default, so a request may come without one.
      expect(costs(rules)).toEqual(['pic-1 private.upstream.fal.cost has no rule for img_size "2k" and for 1 more']);
      const narrowed = withMember(image(), 'private.upstream.replicate', {
        model: 'acme/pic',
        only: { img_size: ['2k'] },
        cost: [{ when: { img_size: '2k' }, per_request: 2 }],
      });
      expect(problemsOf(() => parse(narrowed))).toEqual([]);
    });

    it('ask only for what the model accepts, and for a duration only if there always is one', () => {
      expect(costs([{ when: { img_size: '8k' }, per_request: 1 }, { per_request: 1 }]).join()).toMatch(/names "8k"/);
      expect(costs([{ when: { seed: 1 }, per_request: 1 }, { per_request: 1 }]).join()).toMatch(/seed is not a tuning/);
      expect(costs([{ when: { image: true }, per_request: 1 }, { per_request: 1 }]).join()).toMatch(/not an input/);
      expect(costs({ per_second: 1 }).join()).toMatch(/duration must be a parameter with a default/);
    });

    it('load with a warning if no offered request has the cost of a rule', () => {
      const entry = withMember(image(), 'private.upstream.fal.cost', [
        { per_request: 1 },
        { when: { img_size: '2k' }, per_request: 2 },
      ]);
      expect(parse(entry).warnings).toEqual([
        'pic-1 private.upstream.fal.cost.1: is the cost of no request that the family offers',
      ]);
    });

    it('are by tokens for chat models, with higher prices for longer inputs', () => {
      const base = { input: 1, output: 2, cached_input: 0, cache_write: 3, reasoning: 4 };
      expect(chatCosts({ per_million: base })).toBe('');
      expect(chatCosts({ per_million: [base, { ...base, above_input_tokens: 200_000 }] })).toBe('');
      expect(chatCosts({ per_million: [{ ...base, above_input_tokens: 1 }] })).toMatch(
        /must begin with the prices for all/,
      );
      const tiers = [base, { ...base, above_input_tokens: 9 }, { ...base, above_input_tokens: 8 }];
      expect(chatCosts({ per_million: tiers })).toMatch(/ascending order/);
      expect(chatCosts({ per_request: 1 })).toMatch(/must be per_million/);
      expect(chatCosts({ per_million: { input: 0.5, output: 1 } })).toMatch(/per_million/);
    });
  });

  it('may keep a retired model, whose id is an alias of its successor', () => {
    const retired = { ...withMember(image(), 'id', 'pic-0'), status: 'inactive' };
    withMember(retired, 'private.aliases', undefined);
    withMember(retired, 'private.upstream', {});
    const successor = withMember(image(), 'private.aliases', { 'pic-0': {} });
    expect(problemsOf(() => parse(retired, successor)).join()).toMatch(/pic-0 is also the id of a model/);
    withMember(retired, 'private.retired', 'the vendor has withdrawn it');
    expect(problemsOf(() => parse(retired, successor))).toEqual([]);
    withMember(retired, 'private.aliases', { 'pic-0': {} });
    expect(problemsOf(() => parse(retired, image())).join()).toMatch(/pic-0 is also the id of a model/);
    withMember(retired, 'private.aliases', undefined);
    withMember(retired, 'status', 'active');
    expect(problemsOf(() => parse(retired, successor)).join()).toMatch(/is for models whose status is not active/);
  });
});
