import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OddForm } from '../../packages/sandbox/src/odd-form.ts';
import { oddForms } from '../../packages/sandbox/src/odd-table.ts';
import { mediaRoutes, type Task } from '../support/api-client.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { projectFolder } from '../support/program.ts';
import { accountOf } from '../support/rows.ts';
import { sideBySide } from '../support/side-by-side.ts';

type MediaType = 'image' | 'video';
interface Maker {
  family: string;
  type: MediaType;
  /** A name of a model that the family's sandbox takes. */
  model: string;
  /** Apart from the other ways in which the family makes this type. */
  way?: string;
}
/** What each family makes. */
const makers: readonly Maker[] = [
  ...both('fal', 'fal-ai/odd', 'fal-ai/odd-video'),
  ...both('replicate', 'odd/picture', 'odd/video'),
  ...both('kling', 'kling-v2-1', 'kling-v2-5-turbo/pro'),
  ...both('runway', 'gen4_image', 'gen4.5'),
  { family: 'seedance', type: 'video', model: 'odd-seedance' },
  { family: 'minimax', type: 'video', model: 'MiniMax-H3' },
  { family: 'dashscope', type: 'video', model: 'odd-wan' },
  ...both('xai', 'odd-imagine', 'odd-imagine-video'),
  ...both('tollgate', 'odd-1', 'odd-2'),
  ...both('openai', 'gpt-image-1', 'sora-2'),
  ...both('gemini', 'odd-image', 'gemini-omni-odd'),
  { family: 'gemini', type: 'video', model: 'veo-odd', way: 'veo' },
];
function both(family: string, image: string, video: string): Maker[] {
  return [
    { family, type: 'image', model: image },
    { family, type: 'video', model: video },
  ];
}
const nameOfMaker = ({ family, type, way }: Maker): string => [family, way, type].filter(Boolean).join('-');

/** The submit returns the picture, so there is no job or address whose id, state, progress or download could be odd. */
const answersAtOnce = new Set(['xai-image', 'openai-image', 'gemini-image']);
const formsAtOnce = /^(?:result_(?!beside)|details|no_files|error_200|account_200)/;
/** OpenAI's clip is at `/content`, whatever the status of its job says. */
const isImpossible = ({ form, family, type }: Row): boolean =>
  family === 'openai' && type === 'video' && form.form === 'no_files';

interface Row extends Maker {
  form: OddForm;
}
const rows: Row[] = oddForms.flatMap((form) =>
  makers
    .filter(({ family, type }) => form.families.includes(family) && (form.types?.includes(type) ?? true))
    .filter((maker) => !answersAtOnce.has(nameOfMaker(maker)) || formsAtOnce.test(form.form))
    .map((maker) => ({ form, ...maker }))
    .filter((row) => !isImpossible(row)),
);
const nameOf = (row: Row): string => `${row.form.form} ${nameOfMaker(row)}`;

let gateway: Gateway;
let apiKey: string;
let projectId: string;
const folder = mkdtempSync(join(tmpdir(), 'tollgate-odd-'));
const ended = new Map<string, Task>();
const price = 3;

beforeAll(async () => {
  const models = makers.map(modelYaml);
  mkdirSync(join(folder, 'catalog'));
  writeFileSync(join(folder, 'catalog', 'odd.yaml'), `models:\n${models.join('')}`);
  gateway = await startGateway({
    env: { CATALOG_FILE: relative(projectFolder, join(folder, 'catalog')), POLL_INTERVAL_MAX_MS: '200' },
  });
  ({ apiKey, projectId } = await gateway.project({ credits: 1_000_000 }));
  // Forms that make channels rest come last, so that all others meet every channel.
  const [resting, others] = [rows.filter(rests), rows.filter((row) => !rests(row))];
  for (const batch of [others, resting]) {
    for (let from = 0; from < batch.length; from += atOnce) {
      await Promise.all(batch.slice(from, from + atOnce).map(run));
    }
  }
}, 1_200_000);
afterAll(async () => {
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
});

const atOnce = 24;
const rests = ({ form }: Row): boolean => form.ends === 'next_channel';
const promptOf = (row: Row): string => {
  const { form } = row;
  const name = `${nameOf(row)} [[latency=60]]`;
  if (form.form === 'failed_prose') return `${name} [[odd=failed_prose fail=late_fail]]`;
  if (form.form === 'error_200') return `${name} [[odd=error_200 fail=transient on=sandbox-a]]`;
  return form.ends === 'next_channel' ? `${name} [[odd=${form.form} on=sandbox-a]]` : `${name} [[odd=${form.form}]]`;
};

async function run(row: Row): Promise<void> {
  const body = { model: `odd-${nameOfMaker(row)}`, prompt: promptOf(row) };
  const taskId = await gateway.accept(apiKey, mediaRoutes[row.type], body);
  ended.set(nameOf(row), await gateway.poll(apiKey, taskId, { secondsMax: 300 }));
}

describe('an answer in an odd form', () => {
  it.each(rows.filter(({ form }) => form.ends === 'succeeded').map((row) => [nameOf(row), row] as const))(
    'is read, and its one result delivered and charged once: %s',
    async (name) => {
      const task = ended.get(name);
      expect(task).toMatchObject({ status: 'succeeded', error: null, credits: { charged: price, refunded: 0 } });
      expect(task?.output).toHaveLength(1);
      expect(await gateway.hits(`${name} `, 'submit')).toHaveLength(1);
    },
  );

  it.each(
    rows.filter(({ form }) => form.requests !== undefined).map((row) => [nameOf(row), row.form.requests] as const),
  )('at the download of a result is met by as many requests as it needs: %s', async (name, requests) => {
    expect(await gateway.hits(`${name} `, 'fetch')).toHaveLength(requests ?? 0);
  });

  it.each(rows.filter(rests).map((row) => [nameOf(row), row] as const))(
    'that tells an error in a 200 buys nothing, and the next channel serves the task: %s',
    async (name) => {
      const task = ended.get(name);
      expect(task).toMatchObject({ status: 'succeeded', credits: { charged: price, refunded: 0 } });
      const channels = (await gateway.hits(`${name} `, 'submit')).map(({ channel }) => channel);
      expect(new Set(channels).size).toBe(channels.length);
      expect(channels.at(-1)).not.toBe('sandbox-a');
    },
  );

  it.each(
    rows.filter(({ form }) => form.ends.startsWith('upstream_')).map((row) => [nameOf(row), row.form.ends] as const),
  )('without a usable result ends the task before its deadline, refunded and not by policy: %s', (name, code) => {
    const task = ended.get(name);
    expect(task).toMatchObject({ status: 'failed', error: { code }, credits: { charged: 0, refunded: price } });
  });

  it('leaves books that add up, with the price of each task that succeeded', async () => {
    const succeeded = [...ended.values()].filter(({ status }) => status === 'succeeded').length;
    expect(await accountOf(gateway.database, projectId)).toEqual({
      balance: 1_000_000 - price * succeeded,
      reserved: 0,
    });
    expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
  });

  it('raises an alarm with its shape and without its values if it cannot be read, and one for an unknown state', () => {
    const names = readdirSync(gateway.logFolder).filter((name) => name.endsWith('.log'));
    const logs = names.map((name) => readFileSync(join(gateway.logFolder, name), 'utf8'));
    const lines = logs.flatMap((log) => log.split('\n')).filter((line) => line.includes('"alarm":true'));
    const unreadable = lines.filter((line) => line.includes('"reason":"unreadable_answer"'));
    expect(unreadable).toHaveLength(rows.filter(({ form }) => form.form === 'unreadable').length);
    for (const line of unreadable) expect(line).toMatch(/"shape":"\{(?:\w+: (?:\w| )+, )*/);
    expect(unreadable.filter((line) => line.includes('sbx-'))).toEqual([]);
    expect(lines.some((line) => line.includes('"reason":"unknown_state"') && line.includes('"word":"resting"'))).toBe(
      true,
    );
  });

  it('is listed by the sandbox with the families that send it', async () => {
    const listed: unknown = await (await fetch(`${gateway.sandboxUrl}/_sandbox/odd`)).json();
    expect(listed).toEqual(
      JSON.parse(
        JSON.stringify(
          oddForms.map(({ form, families, types, ends, about }) => ({ form, families, types, ends, about })),
        ),
      ),
    );
  });
});

describe('the progress of a task', () => {
  const families = oddForms.find(({ form }) => form === 'progress_back')?.families ?? [];
  const itBeside = sideBySide();
  for (const family of families) {
    itBeside(`is shown from the first poll and never falls: ${family}`, async () => {
      // Long enough that this process sees the task between the first poll and the end, even if it stands still for seconds.
      const prompt = `falling progress ${family} [[latency=20000 odd=progress_back]]`;
      const taskId = await gateway.accept(apiKey, mediaRoutes.video, { model: `odd-${family}-video`, prompt });
      const shown: number[] = [];
      await gateway.poll(apiKey, taskId, {
        until: ({ status, progress }) => {
          if (typeof progress === 'number') shown.push(progress);
          return status === 'succeeded' || status === 'failed';
        },
      });
      expect(shown[0]).toBe(80);
      expect(shown).toEqual([...shown].sort((one, other) => one - other));
      expect(shown.at(-1)).toBe(100);
    });
  }
});

const ratios: Record<string, string> = {
  runway: `parameters: { aspect_ratio: { name: ratio, values: { '16:9': '1280:720' } } }`,
  minimax: 'parameters: { aspect_ratio: { name: ratio } }',
  dashscope: 'parameters: { aspect_ratio: { name: ratio } }',
  seedance: 'parameters: { aspect_ratio: { name: ratio } }',
  openai: 'parameters: { aspect_ratio: null }',
  gemini: 'parameters: { aspect_ratio: null }',
};
const modelYaml = (maker: Maker): string => modelOf(maker, nameOfMaker(maker));
const modelOf = ({ family, type, model }: Maker, name: string): string => `
  - id: odd-${name}
    object: model
    type: ${type}
    owned_by: test
    display_name: odd-${name}
    group: Test
    capability: ${type}
    description: null
    status: active
    pricing:
      credits_per_request: ${price}
    parameters:
      prompt: true
      aspect_ratio: ['16:9']
      fields:
        - { key: aspect_ratio, label: Ratio, type: enum, options: ['16:9'], default: '16:9' }
    private:
      groups: [odd]
      upstream:
        ${family}: { model: ${model}, cost: { per_request: 1 }${ratios[family] ? `, ${ratios[family]}` : ''} }
`;
