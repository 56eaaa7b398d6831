import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { dialectNames, type DialectName } from '../../dialects/matrix.ts';
import { beginEvents, familyWires, type FamilyName, type FamilyWire } from '../../support/family-wires.ts';
import {
  counts,
  endOf,
  expectCharge,
  overlong,
  plainCounts,
  sendChat,
  startChargeScene,
  words,
  type Charged,
  type ChargeScene,
  type Counts,
} from './charge-scene.ts';

let scene: ChargeScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startChargeScene();
});
afterAll(() => scene?.stop());

const mark = 'END';
const maxTokens = 2_000;

interface Ending {
  name: string;
  /** Sends what comes after the first half of the words. `finish` sends the reason and the counts of the end. */
  send(
    response: ServerResponse,
    wire: FamilyWire,
    finish: (how: 'stop' | 'length' | 'filter' | 'failed') => void,
  ): void;
  /** Whether the provider comes to report its counts. */
  hasEnd: boolean;
  leaves?: true;
  /** The provider does not close the connection. */
  staysOpen?: true;
  /** The families that cannot end so. */
  notOf?: FamilyName[];
}

const endings: Ending[] = [
  { name: 'is whole', hasEnd: true, send: (_response, _wire, finish) => finish('stop') },
  { name: 'is cut at its length', hasEnd: true, send: (_response, _wire, finish) => finish('length') },
  { name: 'is filtered', hasEnd: true, send: (_response, _wire, finish) => finish('filter') },
  // The kernel must have handed over what came before.
  { name: 'is cut', hasEnd: false, send: (response) => response.end() },
  { name: 'is malformed', hasEnd: false, send: (response) => response.write('data: {"this is no\n\n') },
  {
    name: 'reports an error',
    hasEnd: false,
    send: (response) =>
      response.end('data: {"type":"error","error":{"code":500,"type":"server_error","message":"It failed."}}\n\n'),
  },
  { name: 'is marked as failed', hasEnd: false, send: (_response, _wire, finish) => finish('failed') },
  {
    name: 'is complete but for its cut call',
    hasEnd: false,
    // Gemini sends each call whole.
    notOf: ['gemini'],
    send: (response, wire, finish) => {
      response.write(wire.call(0, '{"path":"/data/a', true));
      finish('stop');
    },
  },
  {
    name: 'is whole on a connection that stays open',
    hasEnd: true,
    staysOpen: true,
    send: (_response, _wire, finish) => finish('stop'),
  },
  { name: 'is overlong', hasEnd: false, send: (response, wire) => response.write(wire.text(overlong)) },
  { name: 'is left at its end', hasEnd: true, leaves: true, send: (_response, _wire, finish) => finish('stop') },
];

/** The charge of each ending of a streamed answer with each form of counts, from each family, and of each ending in each dialect. */
describe.each(Object.keys(familyWires) as FamilyName[])('an answer of %s', (family) => {
  const wire = familyWires[family];
  for (const ending of endings.filter(({ notOf }) => !notOf?.includes(family))) {
    for (const [dialect, counted] of casesOf(ending)) {
      it(`that ${ending.name} with ${counted.name} is charged ${chargeOf(ending, counted)}: ${dialect}`, async () => {
        const facts = await factsAfter(scene, { dialect, wire, ending, counted });
        const { interim, billed } = counted;
        const unread = {
          input: interim && wire.interim ? interim.input : ('likely' as const),
          output: ending.name === 'is overlong' ? maxTokens : ('likely' as const),
          isEstimated: true,
        };
        await expectCharge(facts, wire.model, ending.hasEnd && billed ? billed : unread);
      });
    }
  }
});
/** Each form of counts in one dialect, and one of them in the others: a dialect writes the answer, and counts nothing. */
function casesOf({ staysOpen }: Ending): [DialectName, Counts][] {
  return dialectNames.flatMap((dialect) =>
    // Without its last event an answer ends only after a wait.
    (dialect === 'messages' ? counts.filter(({ final }) => !staysOpen || final?.output === 700) : plainCounts).map(
      (counted): [DialectName, Counts] => [dialect, counted],
    ),
  );
}

/** An answer with a piece that a dialect cannot write. */
describe('an answer with a piece that its dialect cannot write', () => {
  it('ends with an error and is charged as far as it was delivered', async () => {
    const wire = familyWires.openai;
    const arrived = Promise.withResolvers<void>();
    scene.upstream.serve((_request, response) => {
      beginEvents(response);
      response.write(wire.text(words) + wire.call(0, '{"a":1}', true) + wire.text(mark));
      // Blocks come one after another, so a call whose block was ended by a text cannot go on.
      const rest = wire.call(0, '{"b":2}', false) + wire.end('stop', { input: 10, output: 3_000 });
      void arrived.promise.then(() => response.end(rest));
    });
    const answer = await sendChat(scene, { dialect: 'messages', model: wire.model, isStream: true, maxTokens });
    let text = '';
    for await (const piece of (answer.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      text += piece;
      if (text.includes(mark)) arrived.resolve();
    }
    expect(text).toContain('event: error');
    const facts = await endOf(scene, answer);
    expect(facts).toMatchObject({ state: 'settled', usageEstimated: true });
    expect(facts.settledAmount).toBeGreaterThan(0);
  });
});
function chargeOf({ name, hasEnd }: Ending, { billed, interim }: Counts): string {
  if (name === 'is overlong') return 'its whole length';
  if (hasEnd && billed) return billed.isEstimated ? 'the counts that can be true and an estimate' : 'the counts';
  return interim ? 'an estimate, which is larger' : 'an estimate';
}

/** Sends one chat, lets it end, and reads what was written of it. */
async function factsAfter(
  scene: ChargeScene,
  { dialect, wire, ending, counted }: { dialect: DialectName; wire: FamilyWire; ending: Ending; counted: Counts },
): Promise<Charged> {
  const { interim, final } = counted;
  const left = Promise.withResolvers<void>();
  scene.upstream.serve((_request, response) => {
    beginEvents(response);
    response.write(
      wire.open(null) + wire.text(words.slice(0, 100)) + (interim && wire.interim ? wire.interim(interim) : ''),
    );
    // Google's form keeps the last character for its last event.
    response.write(wire.text(`${words.slice(100)}${mark}.`));
    const finish = (how: 'stop' | 'length' | 'filter' | 'failed'): void => {
      const end = wire.end(how, final);
      if (ending.staysOpen) response.write(end.replace('data: [DONE]\n\n', ''));
      else response.end(end);
    };
    if (ending.leaves) void left.promise.then(() => ending.send(response, wire, finish));
    else ending.send(response, wire, finish);
  });
  const leaving = new AbortController();
  const answer = await sendChat(scene, { dialect, model: wire.model, isStream: true, maxTokens }, leaving.signal);
  let text = '';
  try {
    for await (const piece of (answer.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      text += piece;
      if (ending.leaves && text.includes(mark)) leaving.abort();
    }
  } catch {
    // This reader left.
  }
  left.resolve();
  return endOf(scene, answer);
}
