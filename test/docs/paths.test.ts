import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reply, startChatUpstream, type ChatUpstream } from '../support/chat-upstream.ts';
import { mediaRoutes } from '../support/api-client.ts';
import { calledFiles, notingFiles } from '../support/called-files.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { png } from '../support/pictures.ts';
import { chat } from '../services/chat/chats.ts';
import { heldModel, openChatChannel, openHeldChannel, type HeldChannel } from '../services/chat/held-channel.ts';

const document = readFileSync(new URL('../../docs/ARCHITECTURE.md', import.meta.url), 'utf8');

/** The files of each step in a table of docs/ARCHITECTURE.md. */
function stepsBelow(heading: string): Map<string, string[]> {
  const text = document.split(`\n### ${heading}\n`)[1]?.split(/\n##+ /)[0] ?? '';
  const rows = [...text.matchAll(/^\| (\S+) +\| (`.*`) +\|$/gm)];
  return new Map(
    rows.map(([, step = '', files = '']) => [step, [...files.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file)]),
  );
}

const helperFiles = stepsBelow('What counts as passed').get('helpers') ?? [];
const pathOfChat = stepsBelow('The path of a chat');
const pathOfCreate = stepsBelow('The path of a media create');
const filesOf = (path: Map<string, string[]>, isOnTheWay: (step: string) => boolean): string[] =>
  [...path].filter(([step]) => isOnTheWay(step)).flatMap(([, files]) => files);
const isTowards = (step: string): boolean => step !== 'back';

/** What ran in some of the runs, and what ran in each of them. */
class Runs {
  readonly seen = new Set<string>();
  always: string[] | null = null;

  add(files: readonly string[]): void {
    for (const file of files) this.seen.add(file);
    this.always = this.always?.filter((file) => files.includes(file)) ?? [...files];
  }

  /**
   * How these runs differ from the documented files: what ran and is neither named, nor a helper, nor of `domain` or `platform`, and what is
   * named and did not run.
   */
  differences(named: readonly string[]): { unnamed: string[]; idle: string[] } {
    const listed = new Set([...named, ...helperFiles, ...ownWork]);
    return {
      unnamed: (this.always ?? []).filter((file) => !listed.has(file) && !/^(domain|platform)\//.test(file)),
      // Temporal runs workflows from a bundle, in a realm of their own.
      idle: named.filter((file) => !this.seen.has(file) && !file.startsWith('workflows/')),
    };
  }
}

const none = { unnamed: [], idle: [] };
const RUNS_MAX = 20;
/** What the processes call without a request. On a busy machine their loops run beside each request. */
const ownWork = new Set<string>();

let gateway: Gateway;
let apiKey: string;
let held: HeldChannel;
let pictures: ChatUpstream;
let picture: string;
const folder = mkdtempSync(join(tmpdir(), 'tollgate-called-'));
beforeAll(async () => {
  gateway = await startGateway({ env: notingFiles(folder) });
  held = await openHeldChannel(gateway);
  pictures = await startChatUpstream();
  picture = (await png()).toString('base64');
  await openChatChannel(gateway, { name: 'held-pictures', group: 'images', url: pictures.url });
  ({ apiKey } = await gateway.project({ credits: 10_000, rpm: 1_000 }));
});
afterAll(async () => {
  await held?.close();
  await pictures?.die();
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const called = (name: string): Promise<string[]> => calledFiles(folder, gateway.pids()[name] ?? 0);
const calledByAll = async (): Promise<string[]> => (await Promise.all([called('api-1'), called('worker-1')])).flat();

async function noteOwnWork(): Promise<void> {
  await calledByAll();
  await eventually(async () => {
    const files = await calledByAll();
    for (const file of files) ownWork.add(file);
    return files.includes('services/tasks/create/start-tasks.ts');
  });
}

it('names only files that exist', () => {
  const named = [...helperFiles, ...filesOf(pathOfChat, () => true), ...filesOf(pathOfCreate, () => true)];
  expect(named.filter((file) => !existsSync(new URL(`../../src/${file}`, import.meta.url)))).toEqual([]);
});

describe('the path of a chat in docs/ARCHITECTURE.md', () => {
  const towards = filesOf(pathOfChat, isTowards);
  const back = filesOf(pathOfChat, (step) => !isTowards(step));

  it('has at most 45 files from the socket to the provider, each of them once', () => {
    expect(towards.length).toBeGreaterThan(20);
    expect(towards.length).toBeLessThanOrEqual(45);
    expect(new Set([...towards, ...helperFiles]).size).toBe(towards.length + helperFiles.length);
  });

  it('has the files that a chat passes, and no other', async () => {
    const [there, andBack] = [new Runs(), new Runs()];
    // The first chat loads modules and fills caches.
    await chat(gateway, apiKey, 'first', { fields: heldModel });
    for (let run = 0; run < RUNS_MAX; run++) {
      const release = held.hold();
      await called('api-1');
      const answering = chat(gateway, apiKey, 'x', { fields: heldModel });
      await held.holds(1);
      there.add(await called('api-1'));
      release();
      expect((await answering).status).toBe(200);
      andBack.add(await called('api-1'));
      if (there.differences(towards).unnamed.length + andBack.differences([...towards, ...back]).unnamed.length === 0)
        break;
      await noteOwnWork();
    }
    expect(there.differences(towards)).toEqual(none);
    expect(andBack.differences(back).idle).toEqual([]);
    expect(andBack.differences([...towards, ...back]).unnamed).toEqual([]);
  });
});

describe('the path of a media create in docs/ARCHITECTURE.md', () => {
  const towards = filesOf(pathOfCreate, isTowards);
  const back = filesOf(pathOfCreate, (step) => !isTowards(step));

  it('has at most 45 files beside those of a chat, each of them once', () => {
    expect(towards.length).toBeGreaterThan(20);
    expect(towards.length).toBeLessThanOrEqual(45);
    const shared = filesOf(pathOfChat, isTowards);
    expect(new Set([...towards, ...shared, ...helperFiles]).size).toBe(
      towards.length + shared.length + helperFiles.length,
    );
  });

  it('has the files that a create passes, and no other', async () => {
    const runs = new Runs();
    const named = [...towards, ...back];
    const listed = [...named, ...filesOf(pathOfChat, () => true)];
    for (let run = 0; run < RUNS_MAX; run++) {
      const answer = holdPicture();
      await calledByAll();
      const taskId = await gateway.accept(apiKey, mediaRoutes.image, { model: 'gpt-image-2.5', prompt: 'x' });
      await eventually(() => Promise.resolve(pictures.chats.length === 1));
      const files = await calledByAll();
      answer();
      expect(await gateway.poll(apiKey, taskId)).toMatchObject({ status: 'succeeded' });
      // The first task loads modules and fills caches.
      if (run > 0) runs.add(files);
      const { idle } = runs.differences(named);
      if (run > 1 && runs.differences(listed).unnamed.length + idle.length === 0) break;
      await noteOwnWork();
    }
    expect({ unnamed: runs.differences(listed).unnamed, idle: runs.differences(named).idle }).toEqual(none);
  });
});

/** Holds the next picture back until the returned function is called. */
function holdPicture(): () => void {
  let answer = (): void => undefined;
  pictures.chats.length = 0;
  pictures.serve((_request, response) => {
    answer = () => reply(response, 200, { data: [{ b64_json: picture }] });
  });
  return () => answer();
}
