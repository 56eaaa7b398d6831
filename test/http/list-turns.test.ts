import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { scopes } from '../../src/domain/projects/scope.ts';
import type { AppMiddleware } from '../../src/http/context.ts';
import type { Route } from '../../src/http/route.ts';
import { standIn } from '../support/stand-in.ts';
import { describedAdminRoutes, describedRoutes } from './openapi/described-routes.ts';
import { goodKey, openKey, startFrame, until, type Frame } from './support.ts';

const owner = { principalId: 'admin_1', name: 'a', role: 'owner' } as const;
const adminAccess = { byToken: () => Promise.resolve(owner), bySession: () => Promise.resolve(null) } as never;
const otherKey = goodKey.replace('Good', 'Fine');

let frame: Frame;
/** Ends each list that has begun, in their order. */
let begun: (() => void)[];
/** A server whose lists wait this long for their turn. */
async function open(listTurnMs: string): Promise<void> {
  begun = [];
  const handler: AppMiddleware = async (ctx) => {
    await new Promise<void>((resolve) => begun.push(resolve));
    ctx.body = { object: 'list', data: [] };
  };
  const list: Route = {
    method: 'GET',
    path: '/list',
    auth: 'api_key',
    scopes,
    dialect: 'openai',
    body: 'none',
    isList: true,
    handler,
  };
  const plain: Route = { ...list, path: '/plain', handler: (ctx) => Promise.resolve(void (ctx.body = {})) };
  delete plain.isList;
  const { scopes: _scopes, ...unscoped } = list;
  const ofOperators: Route = { ...unscoped, auth: 'admin', role: 'viewer', path: '/operators' };
  const authenticate = (secret: string) =>
    Promise.resolve({ ...openKey, projectId: secret === otherKey ? 'prj_2' : 'prj_1' });
  const routes = [list, plain, ofOperators];
  frame = await startFrame({ routes, settings: { LIST_TURN_MS: listTurnMs }, deps: { authenticate, adminAccess } });
}
// Longer than any pause of a busy machine.
const patient = '600000';
beforeEach(() => open(patient));
afterEach(async () => {
  for (const end of begun) end();
  await frame.close({ drainSeconds: 0 });
});

const get = async (path: string, key = goodKey, signal?: AbortSignal): Promise<number> => {
  const answer = await fetch(frame.url + path, { headers: { 'x-api-key': key }, ...(signal && { signal }) });
  await answer.text();
  return answer.status;
};
/** Another request has been answered, so that those before it have reached their turn. */
const settled = async (): Promise<void> => {
  for (let round = 0; round < 3; round += 1) expect(await get('/plain')).toBe(200);
};

describe('lists', () => {
  it('of one project are read two at a time, and wait neither for those of another nor make other requests wait', async () => {
    const mine = Array.from({ length: 6 }, () => get('/list'));
    await until(() => begun.length === 2);
    await settled();
    expect(begun).toHaveLength(2);
    const theirs = get('/list', otherKey);
    await until(() => begun.length === 3);
    begun[2]?.();
    expect(await theirs).toBe(200);
    for (let ended = 0; ended < 6; ended += 1) {
      const index = ended < 2 ? ended : ended + 1;
      await until(() => begun.length > index);
      begun[index]?.();
    }
    expect(await Promise.all(mine)).toEqual(Array.from({ length: 6 }, () => 200));
  });

  it('of a client that leaves before its turn are not read, and leave the turn to the next', async () => {
    const first = [get('/list'), get('/list')];
    await until(() => begun.length === 2);
    const leaving = new AbortController();
    const left = get('/list', goodKey, leaving.signal).catch(() => 0);
    await settled();
    const next = get('/list');
    leaving.abort();
    expect(await left).toBe(0);
    await until(() => frame.lines.some(({ status }) => status === 499));
    begun[0]?.();
    await until(() => begun.length === 3);
    begun[1]?.();
    begun[2]?.();
    expect(await Promise.all([...first, next])).toEqual([200, 200, 200]);
    expect(begun).toHaveLength(3);
  });

  it('of one page of an operator wait for each other when those of a project are refused', async () => {
    await frame.close({ drainSeconds: 0 });
    await open('500');
    const read = async (): Promise<number> => {
      const answer = await fetch(`${frame.url}/operators`, { headers: { authorization: 'Bearer adm_x' } });
      await answer.text();
      return answer.status;
    };
    const page = Array.from({ length: 6 }, read);
    await until(() => begun.length === 2);
    await settled();
    const lists = [get('/list'), get('/list')];
    await until(() => begun.length === 4);
    // Its turn did not come in time, and that of the page came no sooner.
    expect(await get('/list')).toBe(503);
    for (let ended = 0; ended < 8; ended += 1) {
      await until(() => begun.length > ended);
      begun[ended]?.();
    }
    expect(await Promise.all([...page, ...lists])).toEqual(Array.from({ length: 8 }, () => 200));
  });

  it('of one owner are read two at a time on every route', async () => {
    let running = 0;
    let most = 0;
    const handler: AppMiddleware = async (ctx) => {
      ctx.set(standIn, 'true');
      running += 1;
      most = Math.max(most, running);
      // The first one waits for company: its client may be the only one that has come so far.
      await until(() => most > 1);
      for (let turn = 0; turn < 5; turn += 1) await nextTurn();
      running -= 1;
      ctx.body = { object: 'list', data: [] };
    };
    const lists = [...describedRoutes(), ...describedAdminRoutes()].filter(({ isList }) => isList);
    const routes = lists.map((route) => ({ ...route, beforeAuth: [], beforeBody: [], handler }));
    const all = await startFrame({ routes, settings: { LIST_TURN_MS: patient }, deps: { adminAccess } });
    try {
      for (const { path, auth } of routes) {
        most = 0;
        const address = all.url + path.replace(/(?<!\\):\w+/g, 'x').replaceAll('\\', '');
        const headers = { authorization: `Bearer ${auth === 'admin' ? 'adm_x' : goodKey}` };
        const answers = await Promise.all(
          Array.from({ length: 16 }, async () => {
            const answer = await fetch(address, { headers });
            await answer.text();
            return answer.status;
          }),
        );
        expect({ path, statuses: new Set(answers), most }).toEqual({ path, statuses: new Set([200]), most: 2 });
      }
    } finally {
      await all.close({ drainSeconds: 0 });
    }
  });

  it('take turns on every route that answers one', () => {
    const isList = ({ method, path, query = {}, auth }: Route): boolean =>
      method === 'GET' &&
      auth !== 'job_token' &&
      ('limit' in query ||
        'pageSize' in query ||
        (/\/(models|usage|attempts)$/.test(path) && !path.endsWith('/billing/usage')) ||
        auth === 'admin');
    const all = [...describedRoutes(), ...describedAdminRoutes().filter(({ path }) => !/session|sign-in/.test(path))];
    expect(all.filter((route) => isList(route) && !route.isList).map(({ path }) => path)).toEqual([]);
    expect(all.filter(({ isList: takesTurns }) => takesTurns).length).toBeGreaterThan(20);
  });
});
