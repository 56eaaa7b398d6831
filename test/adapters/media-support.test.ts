import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createUpstreamCaller, type UpstreamCaller } from '../../src/adapters/upstream/call-upstream.ts';
import type { MediaRequest } from '../../src/adapters/channel.ts';
import { createAdapters, mediaFamilies, type Adapters } from '../../src/adapters/registry.ts';
import { checkCatalogEntry } from '../../src/services/catalog/check-catalog-entry.ts';
import type { CatalogEntry } from '../../src/domain/catalog/catalog.ts';
import type { JsonObject } from '../../src/domain/json.ts';
import { unsentInput } from '../../src/domain/tasks/media-support.ts';
import { assertMade, isMade, makersOf } from '../../src/domain/tasks/offered-requests.ts';
import { mediaInputKeys, type MediaInputKey } from '../../src/domain/catalog/parameter-value.ts';
import { taskTypes, type TaskType } from '../../src/domain/tasks/task.ts';

let caller: UpstreamCaller;
let adapters: Adapters;
/** The bodies that the provider received. */
const bodies: string[] = [];
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    bodies.push(Buffer.concat(chunks).toString('utf8'));
    response.writeHead(400, { 'content-type': 'application/json' }).end('{}');
  });
});
let baseUrl = '';
beforeAll(async () => {
  caller = createUpstreamCaller();
  adapters = createAdapters(caller);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await caller.close();
  await new Promise((resolve) => server.close(resolve));
});

const families = Object.keys(mediaFamilies);
/** Every set of inputs. */
const inputSets = mediaInputKeys.reduce<MediaInputKey[][]>(
  (sets, key) => [...sets, ...sets.map((set) => [...set, key])],
  [[]],
);
const referenceCounts = [1, 3];
const cells = families.flatMap((family) => taskTypes.map((type) => ({ family, type })));

const textOf = (key: MediaInputKey, index: number): string => `the bytes of ${key} ${index}`;
const dataUri = (key: MediaInputKey, index: number): { url: string } => {
  const kind = { image: 'image/png', reference_images: 'image/png', video_url: 'video/mp4', audio_url: 'audio/mpeg' }[
    key
  ];
  return { url: `data:${kind};base64,${Buffer.from(textOf(key, index)).toString('base64')}` };
};
const countOf = (key: MediaInputKey, references: number): number => (key === 'reference_images' ? references : 1);
/** Parameters that some adapter treats in its own way, and one that none knows. */
const parameters = Object.fromEntries(
  ['aspect_ratio', 'ratio', 'negative_prompt', 'unheard_of'].map((name) => [name, `the value of ${name}`]),
);

/** Submits a request with these inputs, and returns its body as the provider received it. */
async function bodyOf(
  family: string,
  type: TaskType,
  inputs: readonly MediaInputKey[],
  references: number,
): Promise<string> {
  const has = (key: MediaInputKey) => inputs.includes(key);
  const request: MediaRequest = {
    type,
    model: 'owner/name',
    prompt: 'a fox',
    parameters,
    idempotencyKey: 'att_1',
    ...(has('image') && { image: dataUri('image', 0) }),
    ...(has('reference_images') && {
      referenceImages: Array.from({ length: references }, (_, index) => dataUri('reference_images', index)),
    }),
    ...(has('video_url') && { videoUrl: dataUri('video_url', 0) }),
    ...(has('audio_url') && { audioUrl: dataUri('audio_url', 0) }),
  };
  const before = bodies.length;
  const upstream = { channelId: 'c', baseUrl, credential: 'a:b' };
  await adapters[family]?.submitMedia?.(upstream, request, { signal: AbortSignal.timeout(30_000) });
  expect(bodies).toHaveLength(before + 1);
  return bodies.at(-1) ?? '';
}

/** Whether each input is in the body, as its bytes or in base64. */
const hasAll = (body: string, inputs: readonly MediaInputKey[], references: number): boolean =>
  inputs.every((key) =>
    Array.from({ length: countOf(key, references) }, (_, index) => textOf(key, index)).every(
      (text) => body.includes(text) || body.includes(Buffer.from(text).toString('base64')),
    ),
  );

const inputOf = (inputs: readonly MediaInputKey[], references: number): JsonObject =>
  Object.fromEntries(
    inputs.map((key) => [
      key,
      key === 'reference_images' ? Array.from({ length: references }, () => 'file_1') : 'file_1',
    ]),
  );

/** An entry whose model accepts these inputs and has one family. */
function entryOf(
  type: TaskType,
  inputs: readonly MediaInputKey[],
  references: number,
  upstream: CatalogEntry['private']['upstream'],
): CatalogEntry {
  return {
    model: {
      id: 'm',
      object: 'model',
      type,
      owned_by: 'acme',
      display_name: 'M',
      group: 'M',
      capability: type,
      description: null,
      status: 'active',
      pricing: {
        unit: 'request',
        credits_per_request: 1,
        min_credits_per_request: 1,
        credits_per_1k_input_tokens: 0,
        credits_per_1k_output_tokens: 0,
      },
      parameters: { prompt: true, ...Object.fromEntries(inputs.map((key) => [key, true])) },
    },
    private: {
      public: true,
      groups: ['default'],
      variant_field: null,
      image_tokens: 1_600,
      context_tokens: null,
      aliases: {},
      reference_images_max: inputs.includes('reference_images') ? references : 0,
      upstream,
    },
  };
}
const mapping = { model: 'owner/name', cost: [{ per_request: 1 }], parameters: {} };

describe('every media adapter', () => {
  it('declares what it sends', () => {
    const media = Object.entries(adapters).filter(([, adapter]) => adapter.submitMedia !== undefined);
    expect(media.map(([family]) => family).sort()).toEqual([...families].sort());
  });

  it.each(cells)(
    'sends all inputs that it declares, and the catalog refuses every other set: $family, $type',
    async ({ family, type }) => {
      for (const references of referenceCounts) {
        const isSent = new Map<string, boolean>();
        for (const inputs of inputSets) {
          if (mediaFamilies[family]?.[type] === undefined) isSent.set(inputs.join(), false);
          else isSent.set(inputs.join(), hasAll(await bodyOf(family, type, inputs, references), inputs, references));
        }
        for (const inputs of inputSets) {
          // A model that accepts several inputs accepts each set of them.
          const offered = inputSets.filter((set) => set.every((key) => inputs.includes(key)));
          const refused = checkCatalogEntry(entryOf(type, inputs, references, { [family]: mapping })).problems;
          const cell = { inputs, references, isAccepted: refused.length === 0 };
          expect(cell).toEqual({ ...cell, isAccepted: offered.every((set) => isSent.get(set.join()) === true) });
          if (mediaFamilies[family]?.[type] === undefined) continue;
          const unsent = unsentInput(mediaFamilies[family], type, inputOf(inputs, references));
          expect({ ...cell, unsent: unsent === null }).toEqual({ ...cell, unsent: isSent.get(inputs.join()) });
        }
      }
    },
  );

  it.each(cells)(
    'sends every parameter but those that it declares to leave out: $family, $type',
    async ({ family, type }) => {
      const support = mediaFamilies[family]?.[type];
      if (!support) return;
      for (const inputs of inputSets) {
        const body = await bodyOf(family, type, inputs, 1);
        const left = Object.entries(parameters).flatMap(([name, value]) => (body.includes(value) ? [] : [name]));
        const declared = (support.leavesOut ?? []).filter(({ beside }) => inputs.includes(beside));
        expect({ inputs, left }).toEqual({ inputs, left: declared.map(({ parameter }) => parameter) });
      }
    },
  );
});

describe('the check of a catalog', () => {
  it('names the entry, the family, the input and what the family can send', () => {
    const { problems } = checkCatalogEntry(entryOf('video', ['image', 'reference_images'], 3, { kling: mapping }));
    expect(problems).toEqual([
      {
        model: 'm',
        path: 'private.upstream.kling',
        message: expect.stringMatching(/family kling cannot send reference_images\. It sends prompt, image\. /),
      },
    ]);
  });

  it('names the number of references, and two inputs that exclude each other', () => {
    const { problems } = checkCatalogEntry(entryOf('image', ['image', 'reference_images'], 3, { kling: mapping }));
    expect(problems.map(({ message }) => message)).toEqual([
      expect.stringContaining('sends at most 1 of reference_images, and the model accepts 3'),
    ]);
    const one = checkCatalogEntry(entryOf('image', ['image', 'reference_images'], 1, { kling: mapping }));
    expect(one.problems.map(({ message }) => message)).toEqual([
      expect.stringContaining('cannot send image and reference_images together'),
    ]);
  });

  it('accepts a family that leaves such requests to another, and refuses an input that all leave', () => {
    const partial = { ...mapping, refuses: [{ reference_images: true }] };
    const inputs = ['image', 'reference_images'] as const;
    expect(checkCatalogEntry(entryOf('video', inputs, 3, { fal: mapping, kling: partial })).problems).toEqual([]);
    expect(checkCatalogEntry(entryOf('video', inputs, 3, { kling: partial })).problems).toMatchObject([
      { path: 'private.upstream.kling.refuses.0', message: expect.stringContaining('that another family takes') },
    ]);
  });

  it('refuses names of inputs that the family would not use, or that are equal', () => {
    const named = (names: object) => ({ ...mapping, inputs: names });
    const problemsOf = (family: string, names: object) =>
      checkCatalogEntry(entryOf('video', ['image', 'video_url'], 1, { [family]: named(names) })).problems;
    expect(problemsOf('seedance', { image: 'picture' })).toMatchObject([{ path: 'private.upstream.seedance.inputs' }]);
    expect(problemsOf('fal', { image: 'media', video_url: 'media' })).not.toEqual([]);
    expect(problemsOf('fal', { image: 'picture', video_url: 'clip' })).toEqual([]);
  });
});

describe('a request that one family would not send whole', () => {
  const entry = entryOf('video', ['image', 'reference_images'], 3, { kling: mapping, fal: mapping });
  const body = { prompt: 'a fox', reference_images: ['file_1', 'file_2'] };

  it('goes to the families that send all of it', () => {
    expect(makersOf(entry, body, mediaFamilies).map(([family]) => family)).toEqual(['fal']);
    expect(makersOf(entry, { prompt: 'a fox', image: 'file_1' }, mediaFamilies)).toHaveLength(2);
  });

  it('is refused with the parameter if there is none', () => {
    const alone = entryOf('video', ['image', 'reference_images'], 3, { kling: mapping });
    expect(isMade(alone, body, mediaFamilies)).toBe(false);
    expect(() => assertMade(alone, body, mediaFamilies)).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter', param: 'reference_images' }),
    );
  });
});
