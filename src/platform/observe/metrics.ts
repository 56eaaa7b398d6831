import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client';
import { createInstruments, type PoolUse } from './instruments.ts';

/** One call to a provider. `poll` asks for a job of any model, so it has no `model`. */
export interface UpstreamCalled {
  channel: string;
  model?: string;
  operation: 'chat' | 'chat_stream' | 'submit' | 'poll';
  outcome: string;
  /** Until the answer; of a stream, until its first content. */
  ms: number;
}

export interface Answers {
  all: number;
  failed: number;
}

/** What a successful request was charged and what it cost us. */
export interface Sale {
  model: string;
  channel: string;
  credits: number;
  costMicroUsd: number;
  /** Of a chat. */
  tokens?: { input: number; output: number };
}

/**
 * The metrics of a process for its operators. No label is a project, a key, a task or a request: each has as many values as there are
 * routes, models or channels.
 */
export interface Metrics {
  requestAnswered(request: { route: string; method: string; status: number; ms: number }): void;
  /** The requests that were answered so far, and those of them with 5xx. */
  answers(): Answers;
  upstreamCalled(call: UpstreamCalled): void;
  /** Notes how long a client of a streamed chat waited for the first content. */
  firstTokenSent(first: { model: string; channel: string; ms: number }): void;
  saleMade(sale: Sale): void;
  taskEnded(end: { status: string; errorCode: string | null }): void;
  /** Counts one try of a callback. `state` is that of the delivery after it. */
  callbackAttempted(state: string, ms: number): void;
  creditsUndercharged(credits: number): void;
  /** Counts a chat whose settlement was never acknowledged. Its client received an error, and its charge is given back. */
  chatUndelivered(): void;
  /** Counts an event that needs an operator's attention. */
  alarm(reason: string): void;
  /** Counts API detail rows that were never written. */
  apiDetailsLost(rows: number): void;
  /** Counts polls of parked jobs; a poll is late if it starts more than a second after it is due. */
  pollsStarted(polls: { onTime: number; late: number }): void;
  /** Shows the use of the pool from now on. */
  watchPool(read: () => PoolUse): void;
  /** Adds the requests that a listener handles to the gauge of those in flight, from now on. */
  watchRequests(read: () => number): void;
  /** For metrics that only some processes have. */
  registry: Registry;
  /** In Prometheus' text format. */
  page(): Promise<string>;
  /** The same for `pageOfAll`, as it can be sent to another process. */
  values(): Promise<MetricValues>;
}

export type MetricValues = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** The metrics of one process, starting at zero, and those that prom-client reads of Node.js itself. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const instruments = createInstruments(registry);
  const { counters, histograms } = instruments;
  const answers: Answers = { all: 0, failed: 0 };
  return {
    requestAnswered({ route, method, status, ms }) {
      histograms.requests.observe({ route, method, status }, ms / 1_000);
      answers.all += 1;
      if (status >= 500) answers.failed += 1;
    },
    answers: () => ({ ...answers }),
    upstreamCalled({ channel, model = '', operation, outcome, ms }) {
      histograms.upstreamCalls.observe({ channel, model, operation, outcome }, ms / 1_000);
    },
    firstTokenSent({ model, channel, ms }) {
      histograms.firstTokens.observe({ model, channel }, ms / 1_000);
    },
    saleMade({ model, channel, credits, costMicroUsd, tokens }) {
      counters.credits.inc({ model, channel }, credits);
      counters.cost.inc({ model, channel }, costMicroUsd);
      if (!tokens) return;
      counters.tokens.inc({ model, channel, direction: 'input' }, tokens.input);
      counters.tokens.inc({ model, channel, direction: 'output' }, tokens.output);
    },
    taskEnded({ status, errorCode }) {
      counters.tasksEnded.inc({ status, error_code: errorCode ?? '' });
    },
    callbackAttempted(state, ms) {
      histograms.callbacks.observe({ state }, ms / 1_000);
    },
    creditsUndercharged(credits) {
      counters.creditsUndercharged.inc(credits);
    },
    chatUndelivered() {
      counters.chatsUndelivered.inc();
    },
    alarm(reason) {
      counters.alarms.inc({ reason });
    },
    apiDetailsLost(rows) {
      counters.apiDetailsLost.inc(rows);
    },
    pollsStarted({ onTime, late }) {
      counters.polls.inc(onTime + late);
      counters.pollsLate.inc(late);
    },
    watchPool: (read) => instruments.watchPool(read),
    watchRequests: (read) => void instruments.requestsInFlight.push(read),
    registry,
    page: () => registry.metrics(),
    values: () => registry.getMetricsAsJSON(),
  };
}

/** The sums of what several processes have counted, in Prometheus' text format. */
export const pageOfAll = (processes: readonly MetricValues[]): Promise<string> =>
  AggregatorRegistry.aggregate([...processes]).metrics();
