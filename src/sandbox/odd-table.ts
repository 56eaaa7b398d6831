import type { Hit } from './hits.ts';
import { addressIn, isObject, setAt, valueAt, type Fields } from './odd-fields.ts';

/** A call whose reply is changed. */
export interface OddCall {
  family: string;
  kind: Hit['kind'];
  /** Which poll of the job this is, from 1. */
  count: number;
  status: number;
}

/** One form in which a provider, or a gateway before it, is known to answer. */
export interface OddForm {
  form: string;
  /** The families that can answer so. */
  families: readonly string[];
  /** How a task ends that meets it. `next_channel`: nothing was bought, another channel serves it. */
  ends: 'succeeded' | 'upstream_failed' | 'upstream_invalid_response' | 'next_channel';
  about: string;
  /** The form's id of a job, from the sandbox's. */
  toId?: (id: string) => string;
  change: (json: unknown, call: OddCall) => { json?: unknown; status?: number };
}

/** Marks digits that are sent as a JSON number (`create-sandbox.ts`). */
export const numberMark = '#number#';

/** Where each family has the state, the result, and the prose of a failure. */
const places: Readonly<Record<string, { state: string; result: string; prose: string; progress?: number }>> = {
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
  gemini: { state: 'status', result: 'steps', prose: 'errors' },
};
const all = Object.keys(places);
const without = (...names: string[]): string[] => all.filter((family) => !names.includes(family));
const placesOf = (family: string) => places[family] ?? { state: 'status', result: 'output', prose: 'error' };

/** Puts another form of the result where the family has it. Replies without a result stay. */
const result =
  (toForm: (url: string, extension: string) => unknown): OddForm['change'] =>
  (json, { family }) => {
    const url = addressIn(json) ?? base64In(json);
    if (url === undefined) return { json };
    const value = toForm(url, /\.mp4/.test(url) ? 'mp4' : 'png');
    if (isObject(json) && 'data' in json && family !== 'kling') return { json: { ...json, data: value } };
    const { result: path } = placesOf(family);
    if (path === '') return { json: fileOfApp(json, value) };
    setAt(json, path, value);
    return { json };
  };

/** A picture in base64, in a synchronous answer. */
const base64In = (json: unknown): string | undefined => /"b64_json":"([^"]+)"/.exec(JSON.stringify(json))?.[1];

/** fal's result has its file in a member named after its type. */
const fileOfApp = (json: unknown, value: unknown): Fields => {
  const fields = isObject(json) ? json : {};
  const key = ['video', 'videos', 'images'].find((each) => each in fields) ?? 'images';
  return { ...fields, [key]: value };
};

const state =
  (toWord: (word: string, call: OddCall) => string): OddForm['change'] =>
  (json, call) => {
    const { state: path } = placesOf(call.family);
    const word = valueAt(json, path);
    if (typeof word === 'string' && call.kind === 'poll') setAt(json, path, toWord(word, call));
    return { json };
  };

const id = (toId: (id: string) => string) => ({
  families: all,
  ends: 'succeeded' as const,
  toId,
  change: (json: unknown) => ({ json }),
});
const hexOf = (text: string): string => text.slice(-16);

/** Error bodies of an empty account, with the status that should not have been 200. */
const emptyAccounts: Readonly<Record<string, unknown>> = {
  kling: { code: 1102, message: 'Account balance not enough', request_id: 'sbx' },
  minimax: { base_resp: { status_code: 1008, status_msg: 'insufficient balance' } },
  dashscope: { code: 'Arrearage', message: 'Access denied, please make sure your account is in good standing.' },
  fal: { detail: 'User is locked. Reason: Exhausted balance. Top up your balance.' },
  replicate: { title: 'Insufficient credit', detail: 'You have insufficient credit to run this model.', status: 402 },
  runway: { error: 'You do not have enough credits to run this task.' },
  seedance: { error: { code: 'AccountOverdueError', message: 'The account has an overdue balance.' } },
  xai: {
    code: 'Some resource has been exhausted',
    error: 'Your team has used all its credits or reached its spending limit.',
  },
  tollgate: {
    error: { message: 'The credits are used up.', code: 'insufficient_credits', type: 'invalid_request_error' },
  },
  openai: {
    error: { message: 'You exceeded your current quota.', code: 'insufficient_quota', type: 'insufficient_quota' },
  },
  gemini: { error: { code: 400, message: 'Billing is not enabled.', status: 'FAILED_PRECONDITION' } },
};

/** Every odd form, for the word `odd=FORM` and for `/_sandbox/odd`. */
export const oddForms: readonly OddForm[] = [
  {
    form: 'id_base64',
    about: 'the id is standard base64 with +, / and =',
    ...id((real) => `v+/${Buffer.from(real).toString('base64')}==`),
  },
  { form: 'id_slash', about: 'the id has slashes', ...id((real) => `video_aa/bb+cc==${hexOf(real)}`) },
  { form: 'id_colon', about: 'the id has a colon and a tilde', ...id((real) => `vid:~${hexOf(real)}`) },
  { form: 'id_path', about: 'the id looks like a path with a query', ...id((real) => `../%2f?a=b#${hexOf(real)}`) },
  {
    form: 'id_number',
    about: 'the id is a JSON integer above 2^53',
    ...id((real) => `${numberMark}9${BigInt(`0x${hexOf(real)}`)}`),
  },
  {
    form: 'result_text',
    families: without('gemini'),
    ends: 'succeeded',
    about: 'the result is a text',
    change: result((url) => url),
  },
  {
    ...{ form: 'result_object', families: without('gemini'), ends: 'succeeded' as const },
    about: 'the result is an object with its address',
    change: result((url) => (url.startsWith('http') ? { url } : { b64_json: url })),
  },
  {
    ...{ form: 'result_list', families: without('gemini'), ends: 'succeeded' as const },
    about: 'the result is a list of one',
    change: result((url) => [url.startsWith('http') ? { url } : { b64_json: url }]),
  },
  {
    ...{ form: 'result_beside', families: without('gemini', 'openai'), ends: 'succeeded' as const },
    about: 'a thumbnail and a file of another type stand beside the result',
    change: result((url, extension) =>
      extension === 'mp4'
        ? { video: url, thumbnail: `${url}.thumbnail.png`, image: `${url}.last.png` }
        : url.startsWith('http')
          ? { image: url, thumbnail: `${url}.thumbnail.png`, video: `${url}.mp4` }
          : [{ b64_json: url }],
    ),
  },
  {
    ...{ form: 'details', families: without('gemini'), ends: 'succeeded' as const },
    about: 'sizes, durations and flags have the wrong types',
    change(json, call) {
      const changed = result((url) => [
        {
          ...(url.startsWith('http') ? { url } : { b64_json: url }),
          width: '1024',
          height: 0,
          duration: '5.04',
          content_type: null,
        },
      ])(json, call);
      return {
        json:
          call.family === 'fal' && isObject(changed.json)
            ? { ...changed.json, has_nsfw_concepts: [null] }
            : changed.json,
      };
    },
  },
  {
    ...{ form: 'no_files', families: without('gemini', 'openai'), ends: 'upstream_failed' as const },
    about: 'the job is finished and has no files',
    change: result(() => []),
  },
  {
    ...{ form: 'unreadable', families: without('gemini', 'openai', 'fal'), ends: 'upstream_invalid_response' as const },
    about: 'the job is finished and its result cannot be read',
    change: (json, call) => (base64In(json) === undefined ? result(() => 7)(json, call) : { json }),
  },
  {
    form: 'state_case',
    families: all,
    ends: 'succeeded',
    about: 'the words of states have another case',
    change: state(swapped),
  },
  {
    ...{ form: 'state_word', families: all, ends: 'succeeded' as const },
    about: 'the last word of the state is that of another family',
    change: state((word) =>
      /^(?:succe\w*|completed|done)$/i.test(word) ? 'Success' : /^fail/i.test(word) ? 'ERROR' : word,
    ),
  },
  {
    ...{ form: 'state_unknown', families: all, ends: 'succeeded' as const },
    about: 'the first two polls name a state that nobody knows',
    change: state((word, { count }) => (count <= 2 ? 'resting' : word)),
  },
  {
    ...{ form: 'error_200', families: all, ends: 'next_channel' as const },
    about: 'an error, such as that of fail=transient, has the status 200',
    change: (json, { kind, status }) => ({ json, status: kind === 'submit' && status >= 400 ? 200 : status }),
  },
  {
    ...{ form: 'account_200', families: all, ends: 'next_channel' as const },
    about: 'the answer to the submit is 200 and says that the account is empty',
    change: (json, { family, kind }) => ({ json: kind === 'submit' ? (emptyAccounts[family] ?? json) : json }),
  },
  {
    ...{ form: 'failed_prose', families: without('openai', 'fal', 'gemini'), ends: 'upstream_failed' as const },
    about: 'with fail=late_fail: the reason names the safety checker, which is no policy',
    change(json, { family }) {
      const { prose } = placesOf(family);
      if (typeof valueAt(json, prose) === 'string')
        setAt(json, prose, 'CUDA out of memory while loading the safety checker');
      return { json };
    },
  },
  {
    ...{
      form: 'progress_back',
      families: all.filter((family) => places[family]?.progress),
      ends: 'succeeded' as const,
    },
    about: 'the progress falls from 80 to 15',
    change(json, { family, kind, count }) {
      if (kind === 'poll') setAt(json, 'progress', (count === 1 ? 80 : 15) * (places[family]?.progress ?? 1));
      return { json };
    },
  },
];

/** Upper case for words in lower case, and the other way round. */
function swapped(word: string): string {
  return word === word.toLowerCase() ? word.toUpperCase() : word.toLowerCase();
}
