import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import type { JsonObject } from '../../../src/domain/json.ts';
import { dialectNames, type DialectName } from '../../dialects/matrix.ts';
import { beginEvents, familyWires, type FamilyName, type FamilyWire } from '../../support/family-wires.ts';
import {
  counts,
  endOf,
  endOfChat,
  expectCharge,
  latestChat,
  overlong,
  plainCounts,
  sendChat,
  startChargeScene,
  words,
  type Charged,
  type ChargedAsk,
  type ChargeScene,
  type Counts,
} from './charge-scene.ts';

let scene: ChargeScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startChargeScene();
});
afterAll(() => scene?.stop());

/** How the gateway fetches an answer for a client that does not stream: short ones whole, long ones as a stream. */
const transports = {
  whole: { maxTokens: 500 },
  'a stream': { maxTokens: 2_000 },
};
type Transport = keyof typeof transports;
const transportNames = Object.keys(transports) as Transport[];

interface Ending {
  name: string;
  /** What the provider sends, by the way in which the gateway asks. */
  send: Record<Transport, (response: ServerResponse, wire: FamilyWire, counted: Counts) => void>;
  /** `refunded`: no answer, no charge. */
  charge: 'told' | 'refunded' | 'whole length';
  notOf?: FamilyName[];
  /** The client is gone when the answer comes. */
  leaves?: true;
}

const json = (response: ServerResponse, text: string): void => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(text);
};
const begin = (response: ServerResponse, wire: FamilyWire, { interim }: Counts): void => {
  beginEvents(response);
  response.write(wire.open(null) + wire.text(words.slice(0, 100)));
  response.write((interim && wire.interim ? wire.interim(interim) : '') + wire.text(words.slice(100)));
};
const endsWith = (how: 'stop' | 'length' | 'filter' | 'failed'): Ending['send'] => ({
  whole: (response, wire, { final }) => json(response, JSON.stringify(wire.whole(words, how, final))),
  'a stream': (response, wire, counted) => {
    begin(response, wire, counted);
    response.end(wire.end(how, counted.final));
  },
});
const error = { type: 'error', error: { code: 500, type: 'server_error', message: 'It failed.' } };
/** The same answer with a call whose arguments were cut. */
function withCutCall(answer: JsonObject): JsonObject {
  const calls = [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"path":"/data/a' } }];
  const [choice] = answer.choices as JsonObject[];
  return { ...answer, choices: [{ ...choice, message: { role: 'assistant', content: words, tool_calls: calls } }] };
}

const endings: Ending[] = [
  { name: 'is whole', charge: 'told', send: endsWith('stop') },
  { name: 'is cut at its length', charge: 'told', send: endsWith('length') },
  { name: 'is filtered', charge: 'told', send: endsWith('filter') },
  { name: 'is marked as failed', charge: 'refunded', send: endsWith('failed') },
  {
    name: 'is cut',
    charge: 'refunded',
    send: {
      whole: (response, wire, { final }) => {
        const text = JSON.stringify(wire.whole(words, 'stop', final));
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length });
        response.write(text.slice(0, -20), () => response.destroy());
      },
      'a stream': (response, wire, counted) => {
        begin(response, wire, counted);
        response.end();
      },
    },
  },
  {
    name: 'is malformed',
    charge: 'refunded',
    send: {
      whole: (response, wire, { final }) =>
        json(response, JSON.stringify(wire.whole(words, 'stop', final)).slice(0, -5)),
      'a stream': (response, wire, counted) => {
        begin(response, wire, counted);
        response.write('data: {"this is no\n\n');
      },
    },
  },
  {
    name: 'reports an error',
    charge: 'refunded',
    send: {
      whole: (response) => json(response, JSON.stringify(error)),
      'a stream': (response, wire, counted) => {
        begin(response, wire, counted);
        response.end(`data: ${JSON.stringify(error)}\n\n`);
      },
    },
  },
  {
    name: 'is complete but for its cut call',
    charge: 'refunded',
    // The others send arguments as an object when they answer whole.
    notOf: ['anthropic', 'gemini', 'responses'],
    send: {
      whole: (response, wire, { final }) =>
        json(response, JSON.stringify(withCutCall(wire.whole(words, 'stop', final)))),
      'a stream': (response, wire, counted) => {
        begin(response, wire, counted);
        response.end(wire.call(0, '{"path":"/data/a', true) + wire.end('stop', counted.final));
      },
    },
  },
  {
    name: 'is overlong',
    charge: 'whole length',
    send: {
      // Nothing is counted, so the estimate of what is handed over decides.
      whole: (response, wire) => json(response, JSON.stringify(wire.whole(overlong, 'stop', null))),
      'a stream': (response, wire, counted) => {
        begin(response, wire, counted);
        response.write(wire.text(overlong));
      },
    },
  },
  { name: 'comes after its client has left', charge: 'told', leaves: true, send: endsWith('stop') },
];

/** The charge of each ending of an answer that is not streamed, with each form of counts, from each family and in each dialect. */
describe.each(Object.keys(familyWires) as FamilyName[])('an answer of %s that is not streamed', (family) => {
  const wire = familyWires[family];
  for (const transport of transportNames) {
    // The model thinks first, so its answers are always fetched as a stream.
    if (family === 'responses' && transport === 'whole') continue;
    for (const ending of endings.filter(({ notOf }) => !notOf?.includes(family))) {
      for (const [dialect, counted] of casesOf(ending, transport)) {
        const what = `fetched as ${transport}, that ${ending.name} with ${counted.name}: ${dialect}`;
        it(`${ending.charge === 'refunded' ? 'is free' : 'is charged once'}: ${what}`, async () => {
          const { maxTokens } = transports[transport];
          const request = { dialect, model: wire.model, isStream: false, maxTokens };
          const reply = (response: ServerResponse): void => ending.send[transport](response, wire, counted);
          const { facts, status } = await (ending.leaves ? leave : stay)(scene, request, reply);
          if (ending.charge === 'refunded') {
            expect(facts).toMatchObject({ state: 'refunded', settledAmount: null, deliveredTokens: null });
            expect(status).toBeGreaterThanOrEqual(500);
            return;
          }
          expect(status).toBe(ending.leaves ? null : 200);
          const unread = { input: 'likely', output: 'likely', isEstimated: true } as const;
          const interim = transport === 'a stream' && wire.interim ? counted.interim : undefined;
          const billed = ending.charge === 'told' ? counted.billed : undefined;
          await expectCharge(facts, wire.model, {
            ...(billed ?? unread),
            ...(!billed && interim && { input: interim.input }),
            ...(ending.charge === 'whole length' && { output: maxTokens }),
          });
        });
      }
    }
  }
});
function casesOf({ charge }: Ending, transport: Transport): [DialectName, Counts][] {
  return dialectNames.flatMap((dialect) => {
    const forms = dialect === 'chat completions' && charge !== 'whole length' ? counts : plainCounts;
    // Only a stream has counts before its end.
    return forms
      .filter(({ interim }) => !interim || transport === 'a stream')
      .map((counted): [DialectName, Counts] => [dialect, counted]);
  });
}

interface Seen {
  facts: Charged;
  /** Null if the client left before there was one. */
  status: number | null;
}

async function stay(scene: ChargeScene, request: ChargedAsk, reply: (response: ServerResponse) => void): Promise<Seen> {
  scene.upstream.serve((_request, response) => reply(response));
  const answer = await sendChat(scene, request);
  await answer.arrayBuffer();
  return { facts: await endOf(scene, answer), status: answer.status };
}

/** The client leaves while the provider works on its answer. */
async function leave(
  scene: ChargeScene,
  request: ChargedAsk,
  reply: (response: ServerResponse) => void,
): Promise<Seen> {
  const leaving = new AbortController();
  const left = Promise.withResolvers<void>();
  scene.upstream.serve((_request, response) => {
    leaving.abort();
    void left.promise.then(() => reply(response));
  });
  // An equal chat of the same key would take this one over.
  const { apiKey } = await scene.gateway.key(scene.project.projectId);
  const own = { ...scene, project: { ...scene.project, apiKey } };
  await expect(sendChat(own, request, leaving.signal)).rejects.toThrow();
  const requestId = await latestChat(scene);
  left.resolve();
  return { facts: await endOfChat(scene, requestId), status: null };
}
