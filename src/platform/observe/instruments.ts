import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** The connections of a pool. */
export interface PoolUse {
  idle: number;
  busy: number;
  /** Statements that wait for a connection. */
  waiting: number;
}

/** Seconds. Chats and creates take from a few milliseconds on, and streams, whole answers and uploads up to minutes. */
const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** The metrics that this gateway keeps beside those of Node.js. docs/PRODUCTION.md says how they are used. */
export function createInstruments(registry: Registry) {
  const registers = [registry];
  const counter = <Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter({ name: `tollgate_${name}`, help, labelNames, registers });
  const seconds = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Histogram({ name: `tollgate_${name}_seconds`, help, labelNames, registers, buckets: requestSeconds });
  const requestsInFlight: (() => number)[] = [];
  new Gauge({
    name: 'tollgate_requests_in_flight',
    help: 'Requests and streams that the process handles.',
    registers,
    collect() {
      this.set(requestsInFlight.reduce((sum, read) => sum + read(), 0));
    },
  });
  return {
    requestsInFlight,
    counters: {
      credits: counter('credits_charged_total', 'Credits charged for successful requests.', ['model', 'channel']),
      cost: counter('upstream_cost_micro_usd_total', 'What the providers charge for them, by the catalog.', [
        'model',
        'channel',
      ]),
      tokens: counter('tokens_total', 'Tokens of charged chats.', ['model', 'channel', 'direction']),
      tasksEnded: counter('tasks_ended_total', 'Tasks that ended.', ['status', 'error_code']),
      creditsUndercharged: counter('credits_undercharged_total', 'Credits that chats cost above their holds.'),
      chatsUndelivered: counter('chats_undelivered_total', 'Chats whose settlement was not acknowledged.'),
      alarms: counter('alarms_total', 'Events that need an operator.', ['reason']),
      apiDetailsLost: counter('api_details_lost_total', 'API detail rows that were not written.'),
      polls: counter('polls_total', 'Polls of parked jobs.'),
      pollsLate: counter('polls_late_total', 'Polls of parked jobs that started more than a second late.'),
    },
    histograms: {
      requests: seconds('http_request_duration', 'Requests, by the template of their route.', [
        'route',
        'method',
        'status',
      ]),
      upstreamCalls: seconds('upstream_request_duration', 'Calls to providers; of streams, to the first content.', [
        'channel',
        'model',
        'operation',
        'outcome',
      ]),
      firstTokens: seconds('time_to_first_token', 'What clients of streamed chats wait for the first content.', [
        'model',
        'channel',
      ]),
      callbacks: seconds('callback_duration', 'Tries of callbacks, by the state of the delivery after them.', [
        'state',
      ]),
    },
    watchPool(read: () => PoolUse): void {
      new Gauge({
        name: 'tollgate_database_connections',
        help: 'Connections of the pool, and statements that wait for one.',
        labelNames: ['state'],
        registers,
        collect() {
          const { idle, busy, waiting } = read();
          this.set({ state: 'idle' }, idle);
          this.set({ state: 'busy' }, busy);
          this.set({ state: 'waiting' }, waiting);
        },
      });
    },
  };
}
