import type { MediaRequest } from '../../src/adapters/channel.ts';
import { loadCatalog } from '../../src/services/catalog/load-catalog.ts';
import type { CatalogEntry, UpstreamMapping } from '../../src/domain/catalog/catalog.ts';
import { canMake } from '../../src/domain/tasks/offered-requests.ts';
import { acceptedParameters, listValues, resolveMediaRequest } from '../../src/domain/catalog/parameters.ts';
import { mapParameters, upstreamModel } from '../../src/domain/catalog/upstream-parameters.ts';

export const { entries } = await loadCatalog('catalog');
const picture =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const sound = 'data:audio/mpeg;base64,AAAA';
const film = 'data:video/mp4;base64,AAAA';

/** Requests that together have every offered value of every parameter, and every set of inputs that the model accepts. */
export function requestsOf(entry: CatalogEntry): Record<string, unknown>[] {
  const { parameters } = entry.model;
  const flags: [boolean | undefined, Record<string, unknown>][] = [
    [parameters.image, { image: picture }],
    [parameters.reference_images, { reference_images: [picture] }],
    [parameters.video_url, { video_url: film }],
    [parameters.audio_url, { audio_url: sound }],
    [parameters.negative_prompt, { negative_prompt: 'blur' }],
  ];
  const inputs = flags.flatMap(([accepted, body]) => (accepted === true ? [body] : []));
  const offered = [...acceptedParameters(entry)].map(([key, accepted]) =>
    (listValues(accepted, 100) ?? []).map((value): Record<string, unknown> => ({ [key]: value })),
  );
  const values = offered.flat();
  // Some endpoints for clips from an image take less than those for text.
  const together = Object.assign({}, ...offered.map((ones) => ones[0])) as Record<string, unknown>;
  const needed = parameters.video_url === true ? { video_url: film } : {};
  const combined = inputs.reduce<Record<string, unknown>[]>(
    (all, input) => [...all, ...all.map((each) => ({ ...each, ...input }))],
    [{}],
  );
  return [...values, ...combined, ...combined.map((input) => ({ ...together, ...input }))].map((body) => ({
    prompt: 'a fox [[latency=0]]',
    ...needed,
    ...body,
  }));
}

const media = entries.filter(({ model }) => model.type !== 'chat' && model.status === 'active');
/** Every media mapping of the shipped catalog. */
export const mappings = media.flatMap((entry) =>
  Object.entries(entry.private.upstream).map(([family, mapping]) => ({ id: entry.model.id, family, entry, mapping })),
);

/** The request that an adapter gets for one body of a client. Null if the mapping cannot make it. */
export function shippedRequest(
  { id, entry, mapping }: { id: string; entry: CatalogEntry; mapping: UpstreamMapping },
  body: Record<string, unknown>,
  index: number,
): MediaRequest | null {
  const { input } = resolveMediaRequest(entry, body);
  if (!canMake(mapping, input)) return null;
  const named = (url: unknown) => (typeof url === 'string' ? { url } : undefined);
  const [image, videoUrl, audioUrl] = [named(input['image']), named(input['video_url']), named(input['audio_url'])];
  const references = [input['reference_images']].flat().filter((url) => typeof url === 'string');
  return {
    type: entry.model.type === 'image' ? 'image' : 'video',
    model: upstreamModel(mapping, input),
    prompt: String(input['prompt']),
    parameters: mapParameters(mapping, input),
    idempotencyKey: `att_${id}_${index}`.replaceAll('.', '_'),
    ...(image && { image }),
    ...(references.length > 0 && { referenceImages: references.map((url) => ({ url })) }),
    ...(videoUrl && { videoUrl }),
    ...(audioUrl && { audioUrl }),
    ...(mapping.inputs && { inputNames: mapping.inputs }),
  };
}
