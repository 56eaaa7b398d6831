import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { openLocally } from '../../../../src/main/cli/open-deps.ts';
import { readResult } from '../../../../src/main/cli/read-result.ts';
import { openStoredFile } from '../../../../src/services/files/open-signed-file.ts';
import { adoptResult } from '../../../../src/services/tasks/end/adopt-result.ts';
import { verifyLedger } from '../../../../src/db/ledger/verify-ledger.ts';
import { picture } from '../../../../packages/sandbox/src/picture.ts';
import { admitted, newTask, openLedger, rowsOf, taskEnd } from '../../../db/books.ts';
import { commandLine } from '../../../support/command-line.ts';
import { createTestHome, type TestHome } from '../../../support/home.ts';

let home: TestHome;
let folder: string;
let png: string;
let project: string;
let key: string;
let serve: RequestListener;
const server = createServer((request, response) => serve(request, response));
const { done, refused } = commandLine(() => home.settings);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-adopt-'));
  home = await createTestHome({
    FILES_LOCAL_DIR: folder,
    EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
    SANDBOX_URL: 'http://127.0.0.1:9',
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  png = join(folder, 'saved.png');
  writeFileSync(png, await picture({ width: 64, height: 48, seed: 1 }));
  project = String((await done('projects', 'create', '--name', 'adopting'))['project_id']);
  await done('credits', 'add', '--project', project, '--amount', '100', '--reference', 'first');
  key = String((await done('keys', 'create', '--project', project))['key_id']);
});
afterAll(async () => {
  server.close();
  await home?.drop();
  rmSync(folder, { recursive: true, force: true });
});
afterEach(async () => expect(await verifyLedger(home.db, 0)).toMatchObject({ ok: true }));

/** A task that ended with a refund, whose price is 10 credits. */
async function failedTask({ outcomeUnknown = false } = {}): Promise<string> {
  const ledger = openLedger(home.db);
  const { taskId } = await admitted(ledger, newTask({ projectId: project, keyId: key }, 10));
  await ledger.finishTask({ ...taskEnd(taskId, 'failed'), outcomeUnknown });
  return taskId;
}

const balance = async (): Promise<unknown> => (await done('credits', 'show', '--project', project))['balance'];
const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/saved.png`;

describe('tasks adopt', () => {
  it.each([false, true])(
    'stores a file as the output and charges nothing, with an unknown outcome: %s',
    async (outcomeUnknown) => {
      const task = await failedTask({ outcomeUnknown });
      const before = await balance();
      const adopted = await done('tasks', 'adopt', task, '--result', png);
      expect(adopted).toMatchObject({
        task_id: task,
        changed: true,
        charged: 0,
        output: [{ mime_type: 'image/png', width: 64, height: 48, url: expect.stringContaining('/files/file_') }],
      });
      expect(await balance()).toBe(before);
      const shown = await done('tasks', 'show', task);
      expect(shown).toMatchObject({
        status: 'failed',
        credits: { charged: 0, refunded: 10 },
        output: adopted['output'],
      });
      expect(await rowsOf(home.db, `select kind from ledger_entry where request_id = '${task}'`)).toEqual([
        { kind: 'refund' },
      ]);
    },
  );

  it('happens once, however often it is called, and its charge as well', async () => {
    const task = await failedTask();
    const before = Number(await balance());
    const adopt = (...more: string[]) => done('tasks', 'adopt', task, '--result', png, ...more);
    const together = await Promise.all([adopt('--charge'), adopt('--charge'), adopt()]);
    expect(together.map(({ changed }) => changed)).toContain(true);
    expect(together.reduce((sum, { charged }) => sum + Number(charged), 0)).toBe(10);
    expect(await adopt('--charge')).toMatchObject({ changed: false, charged: 0, charged_in_all: 10 });
    expect(await balance()).toBe(before - 10);
    const files = await rowsOf(home.db, `select bytes > 0 as is_stored from file where task_id = '${task}'`);
    expect(files).toEqual([{ isStored: true }]);
    expect(await done('ledger', 'list', '--project', project, '--task', task)).toMatchObject({
      data: [{ kind: 'adjust', credits: -10, reference: 'adopted result' }, { kind: 'refund' }],
    });
    const audit = await done('audit', 'list', '--subject', task, '--action', 'tasks.adopt');
    expect(audit['data']).toContainEqual(
      expect.objectContaining({ after: { files: [expect.any(String)], charged: 10 } }),
    );
  });

  it('keeps the file of an adoption whose commit was not acknowledged', async () => {
    const task = await failedTask();
    const result = await readResult(png);
    const { open, close } = openLocally(home.settings);
    try {
      const deps = await open('worker');
      const transaction = deps.db.transaction.bind(deps.db);
      deps.db.transaction = async (begin, work) => {
        await transaction(begin, work);
        throw Object.assign(new Error('the connection was lost'), { code: 'ECONNRESET' });
      };
      const adoption = { taskId: task, result, charge: true, actor: 'test' };
      await expect(adoptResult(deps, adoption)).rejects.toThrow('lost');
      deps.db.transaction = transaction;
      const { changed, task: adopted } = await adoptResult(deps, adoption);
      expect(changed).toBe(false);
      expect(await openStoredFile(deps, adopted.output?.[0]?.file_id ?? '')).toMatchObject({ mimeType: 'image/png' });
    } finally {
      await close();
    }
  });

  it('has a charge that can be given back once, in parts, and is not taken again', async () => {
    const task = await failedTask();
    const before = await balance();
    await done('tasks', 'adopt', task, '--result', png, '--charge');
    const expectSentences = async (cost: string, ...sentences: string[]): Promise<void> => {
      const { explanation, for_customer: forCustomer } = await done('tasks', 'timeline', task);
      expect(forCustomer).toContain(` ended early and cost ${cost}: `);
      expect(explanation).toContain(['nothing was charged.', ...sentences].join(' '));
      expect((await done('tasks', 'show', task))['explanation']).toBe(explanation);
    };
    await expectSentences('10 credits', 'Credits charged later, for an adopted result: 10.');
    const adjust = ['credits', 'adjust', '--task', task];
    expect(await done(...adjust, '--amount', '4', '--reason', 'adopted by mistake')).toMatchObject({ given: 4 });
    await expectSentences(
      '6 credits',
      'Credits charged later, for an adopted result: 10.',
      'Credits given back later: 4.',
    );
    expect(await done(...adjust, '--amount', '4', '--reason', 'adopted by mistake')).toMatchObject({ given: 0 });
    expect(await refused(...adjust, '--reason', 'adopted result')).toContain('Another amount');
    expect(await done(...adjust, '--reason', 'the rest')).toMatchObject({ given: 6 });
    expect(await refused(...adjust, '--reason', 'once more')).toContain('have been given back already');
    expect(await done('tasks', 'adopt', task, '--result', png, '--charge')).toMatchObject({
      changed: false,
      charged: 0,
    });
    expect(await balance()).toBe(before);
    expect(await refused('credits', 'adjust', '--task', await failedTask(), '--reason', 'x')).toContain(
      'not been charged',
    );
  });

  it('says how to give a result that no provider can be asked for', async () => {
    expect(await refused('tasks', 'adopt', await failedTask())).toContain('--result');
  });

  it('may be charged later', async () => {
    const task = await failedTask();
    await done('tasks', 'adopt', task, '--result', png);
    expect(await done('tasks', 'adopt', task, '--result', png, '--charge')).toMatchObject({
      changed: true,
      charged: 10,
    });
  });

  it('downloads a URL, over redirects and refusals', async () => {
    const task = await failedTask();
    const bytes = await picture({ width: 32, height: 16, seed: 2 });
    let requests = 0;
    serve = (request, response) => {
      requests += 1;
      if (requests === 1) response.writeHead(403).end();
      else if (request.url !== '/moved') response.writeHead(302, { location: '/moved' }).end();
      else response.end(bytes);
    };
    expect(await done('tasks', 'adopt', task, '--result', url())).toMatchObject({
      output: [{ width: 32, height: 16 }],
    });
  });

  it('is refused, and changes nothing, for a wrong file, a running or a successful task, and a project without credits', async () => {
    const text = join(folder, 'saved.txt');
    writeFileSync(text, 'no picture');
    const task = await failedTask();
    const running = (await admitted(openLedger(home.db), newTask({ projectId: project, keyId: key }, 10))).taskId;
    expect(await refused('tasks', 'adopt', task, '--result', text)).toContain('not a valid image');
    expect(await refused('tasks', 'adopt', task, '--result', join(folder, 'none'))).toContain('cannot be read');
    expect(await refused('tasks', 'adopt', running, '--result', png)).toContain('has not ended');
    expect(await refused('tasks', 'adopt', 'task_none', '--result', png)).toContain('There is no task');
    await openLedger(home.db).finishTask(taskEnd(running, 'failed'));

    const poor = String((await done('projects', 'create', '--name', 'poor'))['project_id']);
    await done('credits', 'add', '--project', poor, '--amount', '10', '--reference', 'first');
    const poorKey = String((await done('keys', 'create', '--project', poor))['key_id']);
    const ledger = openLedger(home.db);
    const book = { projectId: poor, keyId: poorKey };
    const { taskId } = await admitted(ledger, newTask(book, 10));
    await ledger.finishTask(taskEnd(taskId, 'failed'));
    await admitted(ledger, newTask(book, 5));
    expect(await refused('tasks', 'adopt', taskId, '--result', png, '--charge')).toContain(
      'does not have the 10 credits',
    );
    expect(await rowsOf(home.db, `select id from file where task_id in ('${task}', '${taskId}')`)).toEqual([]);
    expect(await done('tasks', 'show', taskId)).toMatchObject({ output: null });
  });
});
