import { allActions } from '../../../src/admin/table.ts';
import { isVersioned, type Action, type ActionRoute } from '../../../src/admin/define-action.ts';
import { snakeCase } from '../../../src/domain/json.ts';
import type { AdminHome } from './admin-home.ts';

/** An action that changes a thing with a version, and its route. */
export interface VersionedChange {
  name: string;
  action: Action;
  route: ActionRoute;
}

/** Every action that changes something with a version, as the table of actions has them. */
export const versionedChanges: readonly VersionedChange[] = allActions().flatMap(({ name, action }) => {
  const { route } = action;
  return 'local' in route || route.method === 'GET' || !isVersioned(action, route) ? [] : [{ name, action, route }];
});

let made = 0;

/** How a thing is made, by the first word of its path: its own path is returned. */
const makers: Readonly<Record<string, (owner: Owner) => Promise<string>>> = {
  async channels(owner) {
    const base = { adapter: 'openai', base_url: 'https://api.example.com/v1', credential: 'sk-first-1111' };
    const body = { ...base, name: `channel-${made++}`, groups: ['default'] };
    return `/channels/${String((await owner('POST', '/channels', body))['channel_id'])}`;
  },
  projects: async (owner) => `/projects/${await projectOf(owner)}`,
  async keys(owner) {
    const key = await owner('POST', '/keys', { project: await projectOf(owner), name: 'web' });
    return `/keys/${String(key['key_id'])}`;
  },
  async plans(owner) {
    const name = `plan-${made++}`;
    await owner('POST', '/plans', { name, rules: [{ models: '*', multiplier: 1.5 }] });
    return `/plans/${name}`;
  },
  catalog: async () => Promise.resolve('/catalog'),
};

const projectOf = async (owner: Owner): Promise<string> =>
  String((await owner('POST', '/projects', { name: 'versioned' }))['project_id']);

type Owner = (method: string, path: string, body: object) => Promise<Record<string, unknown>>;

/** Makes a thing that an action changes, in the state that the action ends. Returns its path. */
export async function makeResource(home: AdminHome, token: string, { name, route }: VersionedChange): Promise<string> {
  const owner: Owner = async (method, path, body) => (await home.ask(token, method, path, { body })).body;
  const own = await makers[name.split(' ')[0] ?? '']?.(owner);
  if (own === undefined) throw new Error(`nothing makes what ${name} changes`);
  if (name.endsWith(' enable')) await owner('POST', `${own}/disable`, {});
  if (route.path.includes('/secret/')) return `${own}/secret`;
  return route.path === '/catalog/:model' ? `${own}/pic-1` : own;
}

/** The part of the route behind the path of its thing. */
export const suffixOf = ({ route: { path } }: VersionedChange): string =>
  /\/:\w+(?:\/secret)?(\/\w+)$/.exec(path)?.[1] ?? '';

/** A change of a thing that differs for each number, by the first word of its path, with the end of its address behind that path. */
export const setOf = (
  path: string,
  read: Record<string, unknown>,
  number: number,
): [method: string, body: object, suffix?: string] => {
  if (path.endsWith('/secret')) return ['POST', { force: true }, '/rotate'];
  if (path === '/catalog') {
    const [first, ...others] = read['data'] as Record<string, unknown>[];
    const models = [{ ...first, display_name: `Catalog ${number}` }, ...others];
    return ['PUT', { catalog: JSON.stringify({ models }) }];
  }
  if (path.startsWith('/catalog/')) return ['PUT', { entry: { ...read, display_name: `Model ${number}` } }];
  const bodies = {
    channels: { weight: 10 + number },
    projects: { note: `Note ${number}` },
    keys: { rpm: 100 + number },
    plans: { rules: [{ models: '*', multiplier: 2 + number }] },
  };
  return ['PATCH', bodies[path.split('/')[1] as keyof typeof bodies]];
};

/** For every input of each `set`: a body that changes what it is about, in an order in which each changes something. */
export const samples: Readonly<Record<string, readonly object[]>> = {
  'channels set': [
    { name: 'renamed' },
    { adapter: 'anthropic' },
    { base_url: 'https://api.example.org' },
    { credential: 'sk-other-2222' },
    { credential_add: 'sk-more-3333' },
    { limit_credential: '3333', rpm: 5 },
    { credential_remove: '3333' },
    { rpm: 10 },
    { tpm: 10_000 },
    { parallel: 4 },
    { groups: ['other'] },
    { priority: 7 },
    { weight: 3 },
    { list_check: false },
  ],
  'projects set': [
    { name: 'renamed' },
    { note: 'Pays by invoice' },
    { plan: 'versioned' },
    { overdraft: 500 },
    { alert_at: ['20%'] },
    { alert_url: 'https://hooks.example.com/x' },
    { alert_mail: ['ada@example.com'] },
    { trace_content: 'redacted' },
  ],
  'keys set': [
    { name: 'renamed' },
    { metadata: { team: 'ads' } },
    { scopes: ['chat'] },
    { ip: ['203.0.113.0/24'] },
    { models: ['pic-*'] },
    { rpm: 60 },
    { budget: 900 },
    { budget_daily: 90 },
    { budget_monthly: 300 },
    { in_flight: 4 },
    { expires: '2099-01-31' },
  ],
  'plans set': [{ rules: [{ models: 'pic-1', multiplier: 3 }] }],
};

/** The inputs of an action that are not in its path, as its route takes them. */
export const inputsOf = ({ action, route }: VersionedChange): string[] =>
  Object.keys(action.input)
    .filter((name) => !route.path.split('/').includes(`:${name}`))
    .map(snakeCase);
