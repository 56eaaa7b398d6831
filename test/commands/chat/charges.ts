import { describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { chatCredits } from '../../../src/domain/pricing.ts';
import { loadCatalog } from '../../../src/commands/catalog/load-catalog.ts';
import { dialects } from '../../dialects/matrix.ts';
import type { ChatUpstream } from '../../support/chat-upstream.ts';
import { eventually } from '../../support/eventually.ts';
import {
  beginEvents,
  familyWires,
  type FamilyName,
  type FamilyWire,
  type WireUsage,
} from '../../support/family-wires.ts';
import type { Gateway, TestProject } from '../../support/gateway.ts';
import { chatFacts, deliveredTokensOf, type ChatFacts } from './chats.ts';

/** A gateway whose channels all lead to one scripted provider. */
export interface ChargeScene {
  gateway: Gateway;
  upstream: ChatUpstream;
  project: TestProject;
}

/** About 200 tokens, which no provider of this test reports. */
const words = 'the gate is open and '.repeat(40);
/** The fewest tokens that they can have. */
const leastTokens = 13;
const mark = 'END';
const maxTokens = 2_000;
/** Far above what the answer may have. */
const overlong = 'the gate is open and '.repeat(12_000);

interface Ending {
  name: string;
  /** Sends what comes after the first half of the words. `finish` sends the reason and the counts of the end. */
  send(response: ServerResponse, wire: FamilyWire, finish: (how: 'stop' | 'filter' | 'failed') => void): void;
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

interface Counts {
  name: string;
  interim?: WireUsage;
  final: WireUsage | null;
  /** What is billed when the final counts come; absent: as without any. */
  told?: { input: number | 'likely'; output: number; isEstimated: boolean };
}

const counts: Counts[] = [
  { name: 'no counts', final: null },
  { name: 'counts of its beginning only', interim: { input: 1_000, output: 12 }, final: null },
  {
    name: 'counts at its end',
    final: { input: 1_000, output: 700 },
    told: { input: 1_000, output: 700, isEstimated: false },
  },
  { name: 'absurd counts', final: { input: 400_000_000, output: 400_000_000 } },
  {
    name: 'a prompt of zero tokens',
    final: { input: 0, output: 700 },
    told: { input: 'likely', output: 700, isEstimated: true },
  },
  {
    name: 'zero tokens for its text',
    final: { input: 1_000, output: 0 },
    told: { input: 1_000, output: -1, isEstimated: true },
  },
  {
    name: 'fewer tokens than its text can have',
    final: { input: 1_000, output: 3 },
    told: { input: 1_000, output: 3, isEstimated: false },
  },
];

/** The charge of each ending with each form of counts, from each family. */
export function describeCharges(scene: () => ChargeScene): void {
  describe.each(Object.keys(familyWires) as FamilyName[])('an answer of %s', (family) => {
    const wire = familyWires[family];

    for (const ending of endings.filter(({ notOf }) => !notOf?.includes(family))) {
      // Without its last event an answer ends only after a wait.
      for (const counted of counts.filter(({ final }) => !ending.staysOpen || final?.output === 700)) {
        it(`that ${ending.name} with ${counted.name} is charged ${chargeOf(ending, counted)}`, async () => {
          const facts = await factsAfter(scene(), wire, ending, counted);
          const { interim, told } = counted;
          const isTold = ending.hasEnd && told !== undefined;
          const input = isTold ? told.input : interim && wire.interim ? interim.input : 'likely';
          if (input === 'likely') expectLikely(facts.inputTokens, 12);
          else expect(facts.inputTokens).toBe(input);
          if (isTold && told.output >= 0) expect(facts.outputTokens).toBe(told.output);
          else if (ending.name === 'is overlong') expect(facts.outputTokens).toBe(maxTokens);
          else expectLikely(facts.outputTokens, 200);
          expect(facts.usageEstimated).toBe(isTold ? told.isEstimated : true);
          const least = isTold && told.output >= 0 ? Math.min(leastTokens, told.output) : leastTokens;
          expect(facts.deliveredTokens).toBeGreaterThanOrEqual(least);
          expect(facts.deliveredTokens).toBeLessThanOrEqual(facts.outputTokens ?? 0);
          const credits = chatCredits(await pricingOf(wire.model), {
            input: facts.inputTokens ?? -1,
            output: facts.outputTokens ?? -1,
          });
          expect(facts).toMatchObject({ state: 'settled', settledAmount: Math.min(credits, facts.amount) });
        });
      }
    }
  });
}

/** An answer with a piece that a dialect cannot write. */
export function describeUnwritable(scene: () => ChargeScene): void {
  describe('an answer with a piece that its dialect cannot write', () => {
    it('ends with an error and is charged as far as it was delivered', async () => {
      const { gateway, upstream, project } = scene();
      const wire = familyWires.openai;
      const arrived = Promise.withResolvers<void>();
      upstream.serve((_request, response) => {
        beginEvents(response);
        response.write(wire.text(words) + wire.call(0, '{"a":1}', true) + wire.text(mark));
        // Blocks come one after another, so a call whose block was ended by a text cannot go on.
        const rest = wire.call(0, '{"b":2}', false) + wire.end('stop', { input: 10, output: 3_000 });
        void arrived.promise.then(() => response.end(rest));
      });
      const given = { model: wire.model, prompt: 'Tell me about the gate.', isStream: true, maxTokens };
      const answer = await send(gateway, project, given, new AbortController().signal);
      let text = '';
      for await (const piece of (answer.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
        text += piece;
        if (text.includes(mark)) arrived.resolve();
      }
      expect(text).toContain('event: error');
      const facts = await endOf(gateway, answer);
      expect(facts).toMatchObject({ state: 'settled', usageEstimated: true });
      expect(facts.settledAmount).toBeGreaterThan(0);
    });
  });
}

function chargeOf({ name, hasEnd }: Ending, { told, interim }: Counts): string {
  if (name === 'is overlong') return 'its whole length';
  if (hasEnd && told) return told.isEstimated ? 'the counts that can be true and an estimate' : 'the counts';
  return interim ? 'an estimate, which is larger' : 'an estimate';
}

/** Within the error of an estimate without the tokenizer of the model. */
function expectLikely(tokens: number | null, about: number): void {
  expect(tokens).toBeGreaterThanOrEqual(about * 0.6);
  expect(tokens).toBeLessThanOrEqual(about * 1.6);
}

type Charged = ChatFacts & { deliveredTokens: number | null | undefined };

/** Sends one chat, lets it end, and reads what was written of it. */
async function factsAfter(
  { gateway, upstream, project }: ChargeScene,
  wire: FamilyWire,
  ending: Ending,
  { interim, final }: Counts,
): Promise<Charged> {
  const left = Promise.withResolvers<void>();
  upstream.serve((_request, response) => {
    beginEvents(response);
    response.write(
      wire.open(null) + wire.text(words.slice(0, 100)) + (interim && wire.interim ? wire.interim(interim) : ''),
    );
    response.write(wire.text(words.slice(100) + mark));
    const finish = (how: 'stop' | 'filter' | 'failed'): void => {
      const end = wire.end(how, final);
      if (ending.staysOpen) response.write(end.replace('data: [DONE]\n\n', ''));
      else response.end(end);
    };
    if (ending.leaves) void left.promise.then(() => ending.send(response, wire, finish));
    else ending.send(response, wire, finish);
  });
  const given = { model: wire.model, prompt: 'Tell me about the gate.', isStream: true, maxTokens };
  const leaving = new AbortController();
  const answer = await send(gateway, project, given, leaving.signal);
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
  return endOf(gateway, answer);
}

const send = (
  { baseUrl }: Gateway,
  { apiKey }: TestProject,
  ask: { model: string; prompt: string; isStream: boolean; maxTokens: number },
  signal: AbortSignal,
): Promise<Response> =>
  fetch(`${baseUrl}${dialects.messages.path(ask)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(dialects.messages.body(ask)),
    signal,
  });

async function endOf(gateway: Gateway, { headers }: Response): Promise<Charged> {
  const requestId = headers.get('x-request-id') ?? '';
  const facts = await eventually(async () => {
    const soFar = await chatFacts(gateway, requestId);
    return soFar !== undefined && soFar.state !== 'held' && soFar;
  });
  return { ...facts, deliveredTokens: await deliveredTokensOf(gateway, requestId) };
}

async function pricingOf(modelId: string) {
  const entry = (await loadCatalog('catalog')).entries.find(({ model }) => model.id === modelId);
  if (!entry) throw new Error(`no ${modelId}`);
  return entry.model.pricing;
}
