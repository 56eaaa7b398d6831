import { addressIn, isObject, setAt, valueAt, type Fields } from './odd-fields.ts';
import type { OddCall } from './odd-form.ts';

/** The members of each family's answer: the state, the result, the prose of a failure, and what 1 % of progress is. */
const members: Readonly<Record<string, { state: string; result: string; prose: string; progress?: number }>> = {
  fal: { state: 'status', result: '', prose: 'error' },
  replicate: { state: 'status', result: 'output', prose: 'error' },
  kling: { state: 'data.task_status', result: 'data.task_result', prose: 'data.task_status_msg' },
  runway: { state: 'status', result: 'output', prose: 'failure', progress: 0.01 },
  seedance: { state: 'status', result: 'content', prose: 'error.message' },
  minimax: { state: 'task.status', result: 'task.content', prose: 'task.error.message' },
  dashscope: { state: 'output.task_status', result: 'output.video_url', prose: 'output.message' },
  xai: { state: 'status', result: 'video', prose: 'error.message', progress: 1 },
  tollgate: { state: 'status', result: 'output', prose: 'error.message', progress: 1 },
  openai: { state: 'status', result: 'video_url', prose: 'error.message', progress: 1 },
  // The members of Omni's interactions. An operation of Veo and an answer with pictures have their own (`setGemini`).
  gemini: { state: 'status', result: 'steps', prose: 'errors' },
};

export const mediaFamilies = Object.keys(members);
/** What 1 % of progress is in a family whose answers have progress. */
export const progressUnit = (family: string): number | undefined => members[family]?.progress;

type Change = (json: unknown, call: OddCall) => { json?: unknown };

/** Sends the result in another form. Answers without a result are passed on. */
export const result =
  (toForm: (url: string, extension: string) => unknown): Change =>
  (json, call) => {
    const url = addressIn(json) ?? base64In(json) ?? ownAddress(json, call);
    if (url === undefined) return { json };
    return { json: setResult(json, call, toForm(url, /sbx-v/.test(url) ? 'mp4' : 'png')) };
  };

/** A picture in base64, in a synchronous answer. */
export const base64In = (json: unknown): string | undefined =>
  /"(?:b64_json|data)":"([^"]+)"/.exec(JSON.stringify(json))?.[1];

/** OpenAI's status of a video has no address. Gateways of its form give one. */
const ownAddress = (json: unknown, { family, fileUrl }: OddCall): string | undefined =>
  family === 'openai' && valueAt(json, 'status') === 'completed' ? fileUrl : undefined;

function setResult(json: unknown, { family }: OddCall, value: unknown): unknown {
  if (family === 'gemini') return setGemini(json, value);
  if (isObject(json) && 'data' in json && family !== 'kling') return { ...json, data: value };
  const path = members[family]?.result ?? 'output';
  if (path === '') return fileOfApp(json, value);
  setAt(json, path, value);
  return json;
}

function setGemini(json: unknown, value: unknown): unknown {
  const fields = isObject(json) ? json : {};
  if ('candidates' in fields) {
    return { ...fields, candidates: [{ content: { role: 'model', parts: toPart(value) }, finishReason: 'STOP' }] };
  }
  if ('response' in fields) setAt(fields, 'response.generateVideoResponse.generatedSamples', value);
  else setAt(fields, 'steps', [{ type: 'model_output', content: value }]);
  return fields;
}

/** A part of Gemini's content from base64, from an object with it, or from a list of these. */
function toPart(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toPart);
  if (!isObject(value)) return { inlineData: `data:image/png;base64,${String(value)}` };
  const { b64_json: data, ...details } = value;
  return { inline_data: { mime_type: 'image/png', data, ...details } };
}

/** fal's result has its file in a member named after its type. */
function fileOfApp(json: unknown, value: unknown): Fields {
  const fields = isObject(json) ? json : {};
  const key = ['video', 'videos', 'images'].find((each) => each in fields) ?? 'images';
  return { ...fields, [key]: value };
}

/** Names the state of a polled job by another word. An operation of Veo has a flag instead. */
export const state =
  (toWord: (word: string, call: OddCall) => string): Change =>
  (json, call) => {
    if (call.kind !== 'poll') return { json };
    const path = isObject(json) && 'done' in json ? 'done' : (members[call.family]?.state ?? 'status');
    const word = valueAt(json, path);
    if (typeof word === 'string' || word === true) setAt(json, path, toWord(String(word), call));
    return { json };
  };

/** Gives another reason for a failure. */
export const prose =
  (text: string): Change =>
  (json, { family }) => {
    const path = members[family]?.prose ?? 'error';
    const errors = valueAt(json, path);
    if (Array.isArray(errors)) setAt(json, path, [{ code: 'INTERNAL', message: text }]);
    else if (typeof errors === 'string') setAt(json, path, text);
    else if (typeof valueAt(json, 'error.message') === 'string') setAt(json, 'error.message', text);
    return { json };
  };
