import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { splitDataUri } from '../domain/chat/chat.ts';
import type { JsonObject } from '../domain/json.ts';
import type { MediaTypes } from '../domain/tasks/media-support.ts';
import type { RequestBody, UpstreamCaller } from './upstream/call-upstream.ts';
import type { Adapter, MediaRequest, ProviderRef, Upstream } from './channel.ts';
import { mediaCalls } from './media/media-calls.ts';
import { SavedId, pathSegment } from './reading/provider-job-id.ts';
import { klingAnswers as answers } from './reading/kling-answers.ts';
import { toSubmit } from './upstream/classify-outcome.ts';

/**
 * Kling: images and video. Base URL `https://api-singapore.klingai.com/v1`. The credential is `ACCESS_KEY:SECRET_KEY`, and each
 * call has a token signed with it. A credential without a colon is sent unchanged.
 *
 * Read on 2026-11-21: https://app.klingai.com/global/dev/document-api/apiReference/commonInfo (tokens, error codes),
 * …/apiReference/model/textToVideo, …/imageToVideo and …/imageGeneration.
 *
 * The name of a model with modes includes the mode: `kling-v3/pro`, `kling-v3/std`. Version 3 makes 3 to 15 seconds, and sound with
 * `sound: on` (resellers' copies of the documentation, read on 2026-11-22: https://docs.powertokens.ai/en/zmodelVideo/kling). A job can be found by our key
 * (`external_task_id`). "Not found" right after a lost answer does not prove that there is no job. A job cannot be stopped.
 */
export function createKling(caller: UpstreamCaller): Adapter {
  const { ask, submit, pollBy, probeBy } = mediaCalls(caller, { headers: authorization, answers });
  return {
    async submitMedia(upstream, request, options) {
      const path = pathOf(request);
      return submit(upstream, { path, body: toBody(request) }, (task_id) => ({ path, task_id }), options);
    },

    async findMedia(upstream, request, options) {
      const path = pathOf(request);
      const read = (json: unknown): ProviderRef | null => {
        const task_id = answers.error(json, 200) === null ? answers.providerJobId(json) : undefined;
        return task_id === undefined ? null : { path, task_id };
      };
      return toSubmit(await ask(upstream, `${path}/${encodeURIComponent(request.idempotencyKey)}`, read, options));
    },

    pollMedia: pollBy(SavedRef, (ref) => `${ref.path}/${pathSegment(ref.task_id)}`),
    probe: probeBy('/videos/text2video?pageNum=1&pageSize=1', KlingTaskList),
  };
}

function authorization({ credential }: Upstream): { authorization: string } {
  const colon = credential.indexOf(':');
  const token = colon < 0 ? credential : signedToken(credential.slice(0, colon), credential.slice(colon + 1));
  return { authorization: `Bearer ${token}` };
}

/** A JSON Web Token (RFC 7519, HS256), valid for half an hour. It allows our clock to be 5 s ahead. */
function signedToken(accessKey: string, secretKey: string): string {
  const now = Math.floor(Date.now() / 1_000);
  const encoded = (part: JsonObject): string => Buffer.from(JSON.stringify(part)).toString('base64url');
  const claims = `${encoded({ alg: 'HS256', typ: 'JWT' })}.${encoded({ iss: accessKey, exp: now + 1_800, nbf: now - 5 })}`;
  return `${claims}.${createHmac('sha256', secretKey).update(claims).digest('base64url')}`;
}

/** An image has one picture to start from, whatever the client calls it. A clip has the aspect ratio of its first frame. */
export const klingMedia: MediaTypes = {
  image: {
    most: { image: 1, reference_images: 1, video_url: 0, audio_url: 0 },
    apart: [['image', 'reference_images']],
  },
  video: {
    most: { image: 1, reference_images: 0, video_url: 0, audio_url: 0 },
    leavesOut: [{ parameter: 'aspect_ratio', beside: 'image' }],
  },
};

const paths = ['/videos/text2video', '/videos/image2video', '/images/generations'] as const;

const pathOf = ({ type, image }: MediaRequest): (typeof paths)[number] =>
  type === 'image' ? paths[2] : image ? paths[1] : paths[0];

function toBody(request: MediaRequest): RequestBody {
  const [model = '', mode] = request.model.split('/');
  const { aspect_ratio: ratio, ...others } = request.parameters;
  const image = request.image ?? (request.type === 'image' ? request.referenceImages?.[0] : undefined);
  const hasOwnRatio = request.type === 'video' && request.image !== undefined;
  return {
    ...others,
    aspect_ratio: hasOwnRatio ? undefined : ratio,
    model_name: model,
    mode,
    prompt: request.prompt,
    // A data URI is sent without its prefix.
    image: image && (splitDataUri(image.url)?.base64 ?? image.url),
    external_task_id: request.idempotencyKey,
  };
}

const SavedRef = z.object({ path: z.enum(paths), task_id: SavedId });
const KlingTaskList = z.object({ code: z.literal(0), data: z.array(z.unknown()) });
