import { LRUCache } from 'lru-cache';
import { json, type FamilyCall, type Reply } from './family.ts';
import type { OddForm, ServedFile } from './odd-form.ts';
import { isObject } from './odd-fields.ts';
import { numberMark, oddForms } from './odd-table.ts';

/** What a family's reply is changed to by the word `odd=FORM` in a prompt, and the ids that such replies gave jobs. */
export interface OddForms {
  /** The path of a call with the sandbox's own id in place of an odd one. */
  plainPath(path: string): string;
  /** The reply in the odd form that the call's prompt asks for. Other replies are passed on. */
  apply(call: FamilyCall, reply: Reply): Reply;
}

const aliasesMax = 50_000;

export function createOddForms(): OddForms {
  /** The sandbox's id of each odd one. */
  const aliases = new LRUCache<string, string>({ max: aliasesMax });
  /** How often each job was polled. */
  const polls = new LRUCache<string, number>({ max: aliasesMax });

  /** How often the result of each job was requested. */
  const downloads = new LRUCache<string, number>({ max: aliasesMax });

  const download = (call: FamilyCall, form: OddForm, file: ServedFile): Reply => {
    if (form.hasOwnAddress && !call.path.startsWith('/files/')) return json(404, { error: 'not found' });
    const id = idIn(call.path);
    const count = (downloads.get(id) ?? 0) + 1;
    downloads.set(id, count);
    return form.download?.(file, { count, url: `${call.baseUrl}${call.path}` }) ?? file;
  };

  const change = (call: FamilyCall, reply: Reply): Reply => {
    const form = oddFormOf(call.heard?.prompt ?? '', call.channel);
    if (!form?.families.includes(call.family)) return reply;
    if (reply.kind === 'bytes') return download(call, form, reply);
    if (reply.kind !== 'json') return reply;
    const kind = call.heard?.kind ?? 'poll';
    const id = idIn(`${call.path} ${JSON.stringify(reply.json)}`);
    const count = (polls.get(id) ?? 0) + 1;
    if (kind === 'poll') polls.set(id, count);
    const fileUrl = `${call.baseUrl}/files/${id}/0.${id.startsWith('sbx-v') ? 'mp4' : 'png'}`;
    const facts = { family: call.family, kind, count, status: reply.status, fileUrl };
    const changed = form.change?.(structuredClone(reply.json), facts) ?? {};
    if (form.toId === undefined || id === '') return { ...reply, ...changed };
    const alias = form.toId(id);
    aliases.set(alias.replace(numberMark, ''), id);
    return { ...reply, ...changed, json: renamed(changed.json ?? reply.json, id, alias) };
  };

  return {
    plainPath: (path) =>
      path
        .split('/')
        .map((segment) => aliases.get(decoded(segment)) ?? segment)
        .join('/'),
    apply(call, reply) {
      if (reply.kind !== 'later') return change(call, reply);
      const { reply: inner } = reply;
      return { ...reply, reply: () => change(call, typeof inner === 'function' ? inner() : inner) };
    },
  };
}

/** The form that a prompt asks for, for all channels or for this one. */
function oddFormOf(prompt: string, channel: string): OddForm | undefined {
  const groups = [...prompt.matchAll(/\[\[([^[\]]{0,200})\]\]/g)].map(([, words = '']) => words);
  const names = groups.flatMap((words) => {
    const [, on = channel] = /\bon=(\S+)/.exec(words) ?? [];
    const [, name] = /\bodd=([\w-]{1,40})/.exec(words) ?? [];
    return name !== undefined && on === channel ? [name] : [];
  });
  return oddForms.find(({ form }) => names.includes(form));
}

/** The sandbox's id of a job in a path or an answer. */
const idIn = (text: string): string => /sbx-[iv](?:-\w+){9}/.exec(text)?.[0] ?? '';

/** The JSON with another id of the job. Addresses, which contain the id too, stay as they are. */
function renamed(value: unknown, id: string, alias: string): unknown {
  if (typeof value === 'string') {
    if (value === id) return alias;
    const isName = value.endsWith(`operations/${id}`);
    return isName ? `${value.slice(0, -id.length)}${alias.replace(numberMark, '')}` : value;
  }
  if (Array.isArray(value)) return value.map((each) => renamed(each, id, alias));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, renamed(each, id, alias)]));
}

const decoded = (segment: string): string => {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
};
