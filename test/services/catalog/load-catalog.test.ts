import { openaiVendors } from '../../../src/adapters/chat/openai-vendors.ts';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { loadCatalog, readCatalogFiles } from '../../../src/services/catalog/load-catalog.ts';
import { resolveMediaRequest } from '../../../src/domain/catalog/parameters.ts';
import { isOffered } from '../../../src/domain/catalog/model-list.ts';
import { priceRatios } from '../../../src/domain/catalog/price-ratios.ts';
import { creditValueOfNew } from '../../../src/domain/ledger/money.ts';
import { mediaCredits } from '../../../src/domain/ledger/pricing.ts';
import { repriceCatalog } from '../../../src/services/catalog/reprice-catalog.ts';
import { spec } from '../../spec/spec.ts';
import { chat, image, parse, problemsOf, withMember } from './catalog-entries.ts';

describe('the shipped catalog', () => {
  it('sells every token between 1.0 and 1.5 times its cost at the dearest family, and media between 1.0 and 2.0', async () => {
    const { entries } = await loadCatalog('catalog');
    const ratios = entries
      .filter(isOffered)
      .flatMap((entry) =>
        priceRatios(entry, creditValueOfNew).map(({ kind, ...of }) => ({ id: entry.model.id, kind, ...of })),
      );
    const chats = ratios.filter(({ kind }) => kind === 'chat');
    expect(new Set(chats.map(({ id }) => id)).size).toBe(entries.filter(({ model }) => model.type === 'chat').length);
    const beyond = ratios.filter(({ kind, id: _, ...of }) =>
      Object.entries(of).some(
        ([name, ratio]) => name !== 'above' && !(Number(ratio) >= 1 && Number(ratio) <= (kind === 'chat' ? 1.5 : 2)),
      ),
    );
    expect(beyond).toEqual([]);
  });

  it('has the prices that follow from its costs with a markup of 1.25', async () => {
    const texts = await readCatalogFiles('catalog');
    expect(repriceCatalog(texts, { markup: 1.25, minimum: 1, creditValue: creditValueOfNew }).texts).toEqual(texts);
  });

  it('loads with warnings only for its intended differences', async () => {
    const { warnings } = await loadCatalog('catalog');
    expect(warnings).toEqual([
      'wan-2.5 parameters.fields.resolution: does not offer "480p", which the top-level array accepts',
      'seedream-5-lite parameters.fields.img_size: does not offer "3k", which the top-level array accepts',
      'seedream-4 parameters.fields.img_size: offers "1k", which the top-level array does not accept',
      'nano-banana-pro parameters.fields.aspect_ratio: does not offer "4:3", "3:4", which the top-level array accepts',
    ]);
  });

  it('says where and when each mapping was checked, and has the models of one vendor in each file', async () => {
    for (const { model, private: hidden } of (await loadCatalog('catalog')).entries) {
      for (const [family, { verified }] of Object.entries(hidden.upstream)) {
        expect([model.id, family, verified]).toEqual([
          model.id,
          family,
          { source: expect.any(String), on: expect.any(String) },
        ]);
      }
    }
    for (const file of await readdir('catalog')) {
      const { entries } = await loadCatalog(join('catalog', file));
      expect([file, ...new Set(entries.map(({ model }) => `${model.owned_by}.yaml`))]).toEqual([file, file]);
    }
  });

  it('has models of every type and uses every member of the specification', async () => {
    const { entries } = await loadCatalog('catalog');
    const active = entries.filter(({ model }) => model.status === 'active');
    const count = (type: string) => active.filter(({ model }) => model.type === type).length;
    expect(count('image')).toBeGreaterThanOrEqual(5);
    expect(count('video')).toBeGreaterThanOrEqual(5);
    expect(count('chat')).toBeGreaterThanOrEqual(4);
    expect(active.length).toBeLessThan(entries.length);
    const members = new Set(entries.flatMap(({ model }) => Object.keys(model.parameters)));
    expect([...members].sort()).toEqual(
      [
        'prompt',
        'image',
        'video_url',
        'audio_url',
        'reference_images',
        'negative_prompt',
        'messages',
        'stream',
        'temperature',
        'max_tokens',
        'variants',
        'generate_audio',
        'img_size',
        'aspect_ratio',
        'duration',
        'resolution',
        'veo31_variant',
        'pricingRules',
        'fields',
        'examples',
      ].sort(),
    );
    expect(entries.some(({ model }) => model.catalogVisible !== undefined)).toBe(true);
  });

  it('has examples for every model, and each media example is valid and has a price', async () => {
    spec('2.3 examples');
    const { entries } = await loadCatalog('catalog');
    for (const entry of entries) {
      const examples = entry.model.parameters.examples ?? [];
      expect(examples.length).toBeGreaterThan(0);
      if (entry.model.type === 'chat') continue;
      for (const { values } of examples) {
        const { input } = resolveMediaRequest(entry, values);
        expect(mediaCredits(entry.model, input)).toBeGreaterThanOrEqual(1);
      }
    }
  });
});

describe('a catalog file', () => {
  it('loads if it is valid, with defaults for missing members of the private part', () => {
    const { entries, warnings } = parse(image(), chat());
    expect(warnings).toEqual([]);
    expect(entries.map(({ model }) => model.id)).toEqual(['pic-1', 'chat-1']);
    expect(entries[1]?.private).toMatchObject({
      public: true,
      variant_field: null,
      reference_images_max: 0,
      image_tokens: 1600,
    });
    expect(entries[0]?.model).not.toHaveProperty('private');
  });

  const rule = (key: string, value: unknown, credits: unknown) => ({ match: { key, value }, credits });
  const sizeField = { key: 'img_size', label: 'Size', type: 'enum', options: ['1k', '2k'], default: '1k' };
  const invalidImages: [path: string, value: unknown, problem: RegExp][] = [
    ['id', 'a/b:c', /id must be letters/],
    ['object', 'list', /object/],
    ['type', 'audio', /type/],
    ['description', undefined, /description/],
    ['surprise', 1, /surprise/],
    ['pricing.unit', 'tokens', /pricing.unit must be request/],
    ['pricing.credits_per_request', 5, /credits_per_request must equal the lowest rule, 4/],
    ['pricing.min_credits_per_request', 1, /min_credits_per_request must equal the lowest rule, 4/],
    ['pricing.credits_per_1k_input_tokens', 1, /token prices must be 0/],
    ['pricing.credits_per_request', 0, /credits_per_request/],
    ['pricing.credits_per_request', 4.5, /credits_per_request/],
    ['pricing.credits_per_request', '4', /credits_per_request/],
    ['parameters.prompt', false, /because every media request has a prompt/],
    ['parameters.messages', true, /belongs to chat/],
    ['parameters.surprise', true, /surprise is not a member/],
    ['parameters.img_size', ['1k', '2k', '4k'], /exactly one rule for img_size "4k", not 0/],
    ['parameters.img_size', ['1k', '2k', '2k'], /lists "2k" twice/],
    ['parameters.img_size', [], /img_size/],
    ['parameters.img_size', [1024], /img_size/],
    ['parameters.duration', [5.5], /duration/],
    ['parameters.pricingRules', [rule('img_size', '1k', 4)], /exactly one rule for img_size "2k", not 0/],
    [
      'parameters.pricingRules',
      [rule('img_size', '1k', 4), rule('img_size', '2k', 6), rule('img_size', '2k', 7)],
      /exactly one rule for img_size "2k", not 2/,
    ],
    ['parameters.pricingRules', [rule('img_size', '1k', 4), rule('duration', 5, 6)], /must all match on one key/],
    ['parameters.pricingRules', [rule('duration', 5, 4)], /match on duration, which must have/],
    ['parameters.pricingRules', [rule('aspect_ratio', '1:1', 4)], /pricingRules/],
    ['parameters.pricingRules', [rule('img_size', '1k', 0), rule('img_size', '2k', 6)], /credits/],
    ['parameters.pricingRules', [rule('img_size', '1k', 4.5), rule('img_size', '2k', 6)], /credits/],
    ['parameters.fields', [], /must have a default/],
    ['parameters.fields', [{ ...sizeField, default: '4k' }], /default must be one of "1k", "2k"/],
    ['parameters.fields', [{ ...sizeField, default: true }], /default must be one of/],
    ['parameters.fields', [sizeField, sizeField], /lists "img_size" twice/],
    ['parameters.fields', [{ ...sizeField, options: undefined }], /an enum needs options/],
    ['parameters.fields', [{ ...sizeField, min: 1 }], /an enum needs options/],
    ['parameters.fields', [sizeField, { key: 'image', label: 'I', type: 'boolean' }], /is not a tuning parameter/],
    [
      'parameters.fields',
      [sizeField, { key: 'callback_url', label: 'C', type: 'boolean' }],
      /is not a tuning parameter/,
    ],
    ['parameters.fields', [sizeField, { key: 'generate_audio', label: 'A', type: 'boolean' }], /flags do not enable/],
    [
      'parameters.fields',
      [sizeField, { key: 'seed', label: 'S', type: 'number', min: 1 }],
      /a number needs min, max and step/,
    ],
    [
      'parameters.fields',
      [sizeField, { key: 'duration', label: 'D', type: 'number', min: 5, max: 10, step: 0.5 }],
      /whole number of seconds/,
    ],
    [
      'parameters.fields',
      [sizeField, { key: 'duration', label: 'D', type: 'enum', options: [0, 5], default: 5 }],
      /whole number of seconds, at least 1/,
    ],
    ['parameters.examples', [{ label: 'x', values: {} }], /is not a valid request: prompt/],
    [
      'parameters.examples',
      [{ label: 'x', values: { prompt: 'x', img_size: '4k' } }],
      /is not a valid request: img_size/,
    ],
    ['parameters.examples', [{ label: 'x', values: { prompt: 'x', model: 'other' } }], /names another model/],
    ['parameters.variants', false, /variants must be true if and only if/],
    ['private.variant_field', null, /acme_variant is not a member/],
    ['private.variant_field', 'img_size', /is the name of another parameter or member/],
    ['private.reference_images_max', 3, /if and only if reference_images is true/],
    ['id', undefined, /id is required/],
    ['type', 'sound', /type must be one of "image", "video", "chat", not "sound"/],
    ['parameters.prompt', 'yes', /prompt must be true or false, not "yes"/],
    ['private.aliases', 'old', /aliases must be an object or a list, not "old"/],
    ['private.aliases', { old: 1 }, /aliases old must be an object, not 1/],
    ['private.upstream', { Fal: {} }, /upstream.Fal must match \S+, not "Fal"/],
    ['private.upstream.fal.verified', { source: 'x', on: 'today' }, /verified.on must be a valid date, not "today"/],
    ['private.surprise', 1, /private has members that are not known here: "surprise"/],
    ['private.groups', [], /groups/],
    ['private.aliases', { old: { img_size: '4k' } }, /aliases.old is not a valid request: img_size/],
    ['private.aliases', { old: { prompt: 'x' } }, /can only preset tuning parameters/],
    ['private.aliases', { 'pic-1': {} }, /also the id of a model/],
    ['private.upstream', {}, /at least one adapter family/],
    ['private.upstream.fal.parameters', { seed: null }, /seed is not a tuning parameter/],
    ['private.upstream.fal.parameters', { img_size: { name: 's', values: { '8k': 1 } } }, /translates "8k"/],
    ['private.upstream.fal.parameters', { img_size: { name: 'prompt' } }, /lists "prompt" twice/],
    ['private.upstream.fal.model_by', { key: 'acme_variant', values: { ultra: 'x' } }, /translates "ultra"/],
    ['private.upstream.fal.pass_through', ['verbosity'], /pass_through belongs to chat models/],
    ['private.upstream.fal.parameters', { img_size: [{ name: 'a' }, { name: 'a' }] }, /lists "a" twice/],
    ['private.upstream.fal.fixed', { prompt: 'x' }, /lists "prompt" twice/],
    ['private.upstream.fal.sends', [{ when: { img_size: '8k' }, fields: {} }], /names "8k"/],
    [
      'private.upstream.fal',
      {
        model: 'm',
        cost: { per_request: 1 },
        sends: [{ when: { img_size: '1k' }, fields: { size: 1024 } }],
      },
      /has no rule that sends img_size for img_size "2k"/,
    ],
    [
      'private.upstream.fal',
      {
        model: 'm',
        cost: { per_request: 1 },
        sends: [{ when: { img_size: ['1k', '2k'] }, fields: { acme_variant: 'x' } }],
      },
      /lists "acme_variant" twice/,
    ],
    ['private.upstream.fal.only', { seed: [1] }, /only.seed is not a tuning parameter/],
    [
      'private.upstream.fal.refuses',
      [{ image: true, seed: 1 }],
      /refuses.0.seed is not a tuning parameter or an input/,
    ],
    ['private.upstream.fal.refuses', [{ image: true }], /must name what excludes each other/],
    ['private.upstream.fal.refuses', [], /refuses/],
    ['private.upstream.fal.only', { img_size: ['8k'] }, /only.img_size names "8k"/],
    ['private.upstream.fal.only', { img_size: ['1k'] }, /no family makes img_size "2k"/],
    ['private.upstream.fal.inputs', { audio_url: 'sound' }, /inputs.audio_url is not an input of this model/],
    ['private.upstream.fal.inputs', { prompt: 'text' }, /inputs/],
    ['private.upstream.fal.cost', { per_request: 0.5 }, /cost/],
  ];
  it.each(
    invalidImages.map(([path, value, problem]) => ({
      path,
      value,
      problem,
      shown: JSON.stringify(value)?.slice(0, 50),
    })),
  )('is refused if an image model has $path = $shown', ({ path, value, problem }) => {
    const problems = problemsOf(() => parse(withMember(image(), path, value)));
    expect(problems.join('\n')).toMatch(problem);
  });

  const invalidChats: [path: string, value: unknown, problem: RegExp][] = [
    ['pricing.unit', 'request', /must be tokens/],
    ['pricing.credits_per_1k_output_tokens', 0, /must be at least 1/],
    ['parameters.messages', false, /messages must be true/],
    [
      'parameters.fields',
      [{ key: 'temperature', label: 'T', type: 'number', min: 0, max: 1, step: 0.1 }],
      /must be the fixed descriptor/,
    ],
    ['parameters.fields.1.max', 4096, /fields.max_tokens must be the fixed descriptor/],
    ['parameters.img_size', ['1k'], /belongs to image and video/],
    ['parameters.examples', [{ label: 'x', values: { messages: [] } }], /0.values.messages must have at least 1 item$/],
    ['private.aliases', { old: { temperature: 1 } }, /can preset nothing/],
    ['private.context_tokens', undefined, /is required for chat/],
    ['private.max_output_tokens', 0, /must be at least 16, not 0/],
    ['private.upstream.openai.parameters', { seed: null }, /seed is not a tuning parameter/],
    ['private.upstream.openai.parameters', { max_tokens: { name: 'm', values: { 16: 17 } } }, /translates "16"/],
    ['private.upstream.openai.parameters', { temperature: { name: 'max_tokens' } }, /lists "max_tokens" twice/],
    ['private.upstream.openai.parameters', { max_tokens: null }, /must be sent, because credits are held for it/],
    ['private.upstream.openai.parameters', { top_p: { name: 'p' } }, /can only be null/],
    ['private.upstream.openai.fixed', { n: 2 }, /fixed lists "n", which the gateway/],
    ['private.upstream.openai.fixed', { maxOutputTokens: 9 }, /fixed lists "maxOutputTokens"/],
    ['private.upstream.openai.sends', [{ when: {}, fields: {} }], /sends belongs to image and video models/],
    ['private.upstream.openai.refuses', [{ top_p: 1, stop: 'x' }], /refuses belongs to image and video models/],
    ['private.upstream.openai.pass_through', ['store', 'stream'], /lists "stream", which the gateway/],
    ['private.upstream.openai.pass_through', ['max_tokens'], /lists "max_tokens", which the gateway/],
    ['private.upstream.openai.pass_through', ['store', 'store'], /pass_through lists "store" twice/],
    ['private.upstream.openai.pass_through', ['a b'], /pass_through.0/],
    ['private.upstream.openai.pass_through', 'store', /pass_through/],
    [
      'private.upstream.anthropic',
      { model: 'c', cost: { per_million: { input: 1, output: 1 } }, pass_through: [] },
      /passes no further fields/,
    ],
    ['private.upstream.openai.api', 'completions', /openai.api/],
    ['private.upstream.openai.thinking', 'deep', /openai.thinking/],
    ['private.max_tokens', { min: 512, default: 256 }, /max_tokens.default must not be below min/],
    ['private.max_tokens', { min: 1, default: 256 }, /max_tokens.min/],
    ['private.upstream.openai.only', { temperature: [1] }, /only.temperature is not a tuning parameter/],
  ];
  it.each(invalidChats.map(([path, value, problem]) => ({ path, value, problem, shown: JSON.stringify(value) })))(
    'is refused if a chat model has $path = $shown',
    ({ path, value, problem }) => {
      expect(problemsOf(() => parse(withMember(chat(), path, value))).join('\n')).toMatch(problem);
    },
  );

  it('may rename or omit the two parameters of a chat model for an upstream', () => {
    const parameters = { max_tokens: { name: 'max_completion_tokens' }, temperature: null, top_p: null, stop: null };
    expect(problemsOf(() => parse(withMember(chat(), 'private.upstream.openai.parameters', parameters)))).toEqual([]);
  });

  it('names a vendor of the family openai that has a table, for chat completions alone', () => {
    const withVendor = (vendor: string, more = {}, entry = chat()) => {
      const mapping = { model: 'chat', cost: { per_million: { input: 1, output: 1 } }, vendor, ...more };
      return problemsOf(() => parse(withMember(entry, 'private.upstream', { openai: mapping }))).join('\n');
    };
    for (const vendor of Object.keys(openaiVendors)) expect(withVendor(vendor)).toBe('');
    const leftOut = { reasoning_effort: null, frequency_penalty: null };
    expect(withVendor('deepseek', { parameters: leftOut })).toBe('');
    expect(withVendor('deepseek', { parameters: { verbosity: null } })).toMatch(/verbosity is not a tuning parameter/);
    expect(withVendor('deepsea')).toMatch(/openai.vendor is no vendor of this family: "deepsea"/);
    expect(withVendor('openai', { api: 'responses' })).toMatch(/openai.vendor belongs to chat completions/);
    const fal = { model: 'x', cost: { per_image: 1 }, vendor: 'openai' };
    expect(problemsOf(() => parse(withMember(image(), 'private.upstream', { fal }))).join('\n')).toMatch(
      /fal.vendor belongs to chat models/,
    );
  });

  it('may say of a chat model how it thinks and which requests it refuses', () => {
    const mapping = { model: 'chat', cost: { per_million: { input: 1, output: 1 } } };
    const upstream = {
      openai: { ...mapping, api: 'responses', keeps_reasoning: true },
      anthropic: { ...mapping, thinking: 'adaptive', no_forced_tools: true },
    };
    const thinking = withMember(chat(), 'private.max_tokens', { min: 256, default: 4096 });
    expect(problemsOf(() => parse(withMember(thinking, 'private.upstream', upstream)))).toEqual([]);
  });

  it('says what a page of a PDF counts, for chat models of families that send documents', () => {
    const documents = { page_tokens: 4_600, likely_page_tokens: 2_000 };
    const withDocuments = (family: string, value: object, entry = chat()) => {
      const mapping = { model: 'c', cost: { per_million: { input: 1, output: 1 } }, documents: value };
      return problemsOf(() => parse(withMember(entry, 'private.upstream', { [family]: mapping }))).join('\n');
    };
    for (const family of ['anthropic', 'gemini', 'openai']) expect(withDocuments(family, documents)).toBe('');
    expect(withDocuments('xai', documents)).toMatch(/xai.documents this family sends no documents/);
    expect(withDocuments('openai', { ...documents, likely_page_tokens: 5_000 })).toMatch(
      /must not be above page_tokens/,
    );
    const fal = { model: 'x', cost: { per_image: 1 }, documents };
    const picture = withMember(image(), 'private.upstream', { fal });
    expect(problemsOf(() => parse(picture)).join('\n')).toMatch(/fal.documents belongs to chat models/);
    const [, ...others] = chat().capability?.toString().split(',') ?? [];
    const tagged = withMember(chat(), 'capability', ['chat', ...others, 'documents'].join(','));
    const upstream = { openai: { model: 'c', cost: { per_million: { input: 1, output: 1 } }, documents } };
    expect(parse(withMember(tagged, 'private.upstream', upstream)).warnings.join()).not.toMatch(/documents/);
    expect(parse(withMember(chat(), 'private.upstream', upstream)).warnings.join()).toMatch(/does not list documents/);
  });

  it('may let only one of two families make a value', () => {
    const upstream = {
      fal: { model: 'fal-ai/pic', cost: { per_request: 1 }, only: { img_size: ['1k'] } },
      replicate: { model: 'acme/pic', cost: { per_request: 1 } },
    };
    expect(problemsOf(() => parse(withMember(image(), 'private.upstream', upstream)))).toEqual([]);
  });

  it('needs a price for each value that only a descriptor lists', () => {
    const entry = withMember(image(), 'parameters.img_size', undefined);
    expect(problemsOf(() => parse(entry))).toEqual([]);
    const [first] = parse(entry).entries;
    expect(first && resolveMediaRequest(first, { prompt: 'x' }).input).toMatchObject({ img_size: '1k' });
    const stepped = withMember(withMember(image(), 'parameters.img_size', undefined), 'parameters.fields', [
      { key: 'duration', label: 'D', type: 'number', min: 5, max: 15, step: 5, default: 5 },
    ]);
    withMember(stepped, 'parameters.pricingRules', [rule('duration', 5, 4), rule('duration', 10, 8)]);
    expect(problemsOf(() => parse(stepped)).join('\n')).toMatch(/exactly one rule for duration 15, not 0/);
  });

  it('loads with a warning if a rule has a value that the model does not accept', () => {
    const entry = image();
    withMember(entry, 'parameters.pricingRules', [
      rule('img_size', '1k', 4),
      rule('img_size', '2k', 6),
      rule('img_size', '4k', 9),
    ]);
    expect(parse(entry).warnings).toEqual([
      'pic-1 parameters.pricingRules: img_size "4k" has a price but is not accepted',
    ]);
  });

  it('has prices of further classes of tokens and of long inputs for chat models alone', () => {
    const classes = ['cached_input', 'cache_write', 'cache_write_1h', 'reasoning'].map(
      (tokens) => `credits_per_1k_${tokens}_tokens`,
    );
    const plain = ['credits_per_1k_input_tokens', 'credits_per_1k_output_tokens'];
    const problems = (path: string, value: unknown, of = chat) =>
      problemsOf(() => parse(withMember(of(), path, value))).join('\n');
    const long = { above_tokens: 200_000, ...Object.fromEntries([...plain, ...classes].map((member) => [member, 7])) };
    const whole = withMember(chat(), 'pricing.long_input', long);
    for (const member of classes) withMember(whole, `pricing.${member}`, 0);
    const [entry] = parse(whole).entries;
    expect(entry?.model.pricing).toEqual(whole.pricing);
    for (const member of [...plain, ...classes]) {
      for (const bad of [-1, 0.5, 2 ** 53, 1_000_000_001, '3', null]) {
        expect(problems(`pricing.${member}`, bad)).toMatch(new RegExp(`chat-1 pricing\\.${member} `));
        const inTier = { above_tokens: 9, [member]: bad };
        expect(problems('pricing.long_input', inTier)).toMatch(new RegExp(`chat-1 pricing\\.long_input\\.${member} `));
      }
    }
    for (const member of plain)
      expect(problems('pricing.long_input', { above_tokens: 9, [member]: 0 })).toMatch(/must be at least 1/);
    for (const above of [0, -1, 0.5, undefined])
      expect(problems('pricing.long_input', { above_tokens: above })).toMatch(/pricing\.long_input\.above_tokens /);
    expect(problems('pricing.long_input', { above_tokens: 9, surprise: 1 })).toMatch(/pricing\.long_input .*surprise/);
    expect(problems('pricing.credits_per_1k_video_tokens', 1)).toMatch(/pricing .*credits_per_1k_video_tokens/);
    for (const member of classes) expect(problems(`pricing.${member}`, 1, image)).toMatch(/belongs to chat models/);
    expect(problems('pricing.long_input', { above_tokens: 9 }, image)).toMatch(/long_input belongs to chat models/);
  });

  it('may price an image or a clip by further conditions, if every accepted combination has a price', () => {
    const with_ = (all: unknown, value: string, credits: number) => ({
      match: { key: 'img_size', value, all },
      credits,
    });
    const problems = (...rules: unknown[]) =>
      problemsOf(() => parse(withMember(image(), 'parameters.pricingRules', rules))).join('\n');
    const [small, large] = [rule('img_size', '1k', 4), rule('img_size', '2k', 9)];
    const pro = [{ key: 'acme_variant', value: 'pro' }];
    const lite = [{ key: 'acme_variant', value: 'lite' }];
    expect(problems(small, large, with_(lite, '2k', 6))).toBe('');
    expect(problems(small, with_(lite, '2k', 6), with_(pro, '2k', 9))).toMatch(/must have a rule for img_size "2k"$/);
    expect(problems(small, large, with_(lite, '2k', 3))).toMatch(/must equal the lowest rule, 3/);
    expect(problems(small, large, large, with_(lite, '2k', 6))).toMatch(/exactly one rule for img_size "2k", not 2/);
    expect(problems(small, large, with_([...lite, ...pro], '2k', 6))).toMatch(/lists "acme_variant" twice/);
    expect(problems(small, large, with_([{ key: 'img_size', value: '1k' }], '2k', 6))).toMatch(
      /lists "img_size" twice/,
    );
    expect(problems(small, large, with_([{ key: 'style', value: 'x' }], '2k', 6))).toMatch(/is not a tuning parameter/);
    expect(problems(small, large, with_([{ key: 'acme_variant', value: 'max' }], '2k', 6))).toMatch(/does not accept/);
    expect(problems(small, large, with_([], '2k', 6))).toMatch(/match\.all/);
    const dearer = withMember(image(), 'parameters.pricingRules', [small, large, with_(pro, '2k', 12)]);
    expect(parse(dearer).warnings).toEqual([
      'pic-1 parameters.pricingRules: img_size "2k", acme_variant "pro" costs 12 credits, more than the 9 of img_size alone',
    ]);
    const field = { key: 'acme_variant', label: 'V', type: 'enum', options: ['lite', 'pro'], default: 'lite' };
    const covered = withMember(image(), 'parameters.fields', [sizeField, field]);
    withMember(covered, 'parameters.pricingRules', [small, with_(lite, '2k', 6), with_(pro, '2k', 9)]);
    expect(problemsOf(() => parse(covered))).toEqual([]);
  });
});
