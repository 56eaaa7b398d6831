import { oddDownloads } from './odd-downloads.ts';
import type { OddForm } from './odd-form.ts';
import { isObject, setAt } from './odd-fields.ts';
import { base64In, mediaFamilies, progressUnit, prose, result, state } from './odd-results.ts';

/** Marks digits that are sent as a JSON number (`create-sandbox.ts`). */
export const numberMark = '#number#';

const all = mediaFamilies;
const without = (...names: string[]): string[] => all.filter((family) => !names.includes(family));

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
    families: all,
    ends: 'succeeded',
    hasOwnAddress: true,
    about: 'the result is a text',
    change: result((url) => url),
  },
  {
    form: 'result_object',
    families: all,
    ends: 'succeeded' as const,
    hasOwnAddress: true as const,
    about: 'the result is an object with its address',
    change: result((url) => (url.startsWith('http') ? { url } : { b64_json: url })),
  },
  {
    form: 'result_list',
    families: all,
    ends: 'succeeded' as const,
    hasOwnAddress: true as const,
    about: 'the result is a list of one',
    change: result((url) => [url.startsWith('http') ? { url } : { b64_json: url }]),
  },
  {
    form: 'result_beside',
    families: all,
    ends: 'succeeded' as const,
    hasOwnAddress: true as const,
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
    form: 'result_watermark',
    families: ['kling'],
    ends: 'succeeded' as const,
    about: 'the address of the result is empty, and a copy with a watermark stands beside it',
    change: result((url, extension) => ({
      [extension === 'mp4' ? 'videos' : 'images']: [{ id: 'sbx', url: '', watermark_url: url }],
    })),
  },
  {
    form: 'details',
    families: all,
    ends: 'succeeded' as const,
    hasOwnAddress: true as const,
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
    form: 'no_files',
    families: all,
    ends: 'upstream_failed' as const,
    about: 'the job is finished and has no files',
    change: result(() => []),
  },
  {
    form: 'unreadable',
    families: without('openai'),
    ends: 'upstream_invalid_response' as const,
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
    form: 'state_word',
    families: all,
    ends: 'succeeded' as const,
    about: 'the last word of the state is that of another family',
    change: state((word) =>
      /^(?:succe\w*|completed|done)$/i.test(word) ? 'Success' : /^fail/i.test(word) ? 'ERROR' : word,
    ),
  },
  {
    form: 'state_unknown',
    families: all,
    ends: 'succeeded' as const,
    about: 'the first two polls name an unknown state',
    change: state((word, { count }) => (count <= 2 ? 'resting' : word)),
  },
  {
    form: 'error_200',
    families: all,
    ends: 'next_channel' as const,
    about: 'an error, such as that of fail=transient, has the status 200',
    change: (json, { kind, status }) => ({ json, status: kind === 'submit' && status >= 400 ? 200 : status }),
  },
  {
    form: 'account_200',
    families: all,
    ends: 'next_channel' as const,
    about: 'the answer to the submit is 200 and says that the account is empty',
    change: (json, { family, kind }) => ({ json: kind === 'submit' ? (emptyAccounts[family] ?? json) : json }),
  },
  {
    form: 'failed_prose',
    families: all,
    ends: 'upstream_failed' as const,
    about: 'with fail=late_fail: the reason names the safety checker, which is no policy',
    change: prose('CUDA out of memory while loading the safety checker'),
  },
  {
    form: 'progress_back',
    families: all.filter((family) => progressUnit(family) !== undefined),
    ends: 'succeeded' as const,
    about: 'the progress falls from 80 to 15',
    change(json, { family, kind, count }) {
      if (kind === 'poll') setAt(json, 'progress', (count === 1 ? 80 : 15) * (progressUnit(family) ?? 1));
      return { json };
    },
  },
  ...oddDownloads,
];

/** Upper case for words in lower case, and the other way round. */
function swapped(word: string): string {
  return word === word.toLowerCase() ? word.toUpperCase() : word.toLowerCase();
}
