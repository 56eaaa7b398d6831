import type { UpstreamCaller } from '../adapters/upstream/call-upstream.ts';
import type { Adapter, ChatStream, Upstream } from '../adapters/channel.ts';
import type { Adapters } from '../adapters/registry.ts';
import type { ChatLedger } from '../db/chat/chat-ledger.ts';
import type { EndedStatement, Send, StatementTraces } from '../db/database-options.ts';
import type { Ledger } from '../db/ledger/ledger.ts';
import type { Attempt } from '../domain/channels/upstream.ts';
import type { Egress } from '../platform/egress/egress.ts';
import {
  createGenAiReader,
  genAiAnswer,
  genAiChat,
  genAiMedia,
  type GenAiAnswer,
  type GenAiMetrics,
} from './gen-ai.ts';
import { genAiInput, genAiOutput } from './gen-ai-content.ts';
import type { ChatRequest } from '../domain/chat/chat.ts';
import { errorLabel, inSpan, type SpanFacts, type SpanStart, type Tracing } from '../platform/observe/tracer.ts';

/**
 * Wraps dependencies so that their calls have spans. Only where traces are on: without them, `build-deps.ts` wraps nothing, so that they
 * cost nothing.
 */
export interface Wraps {
  caller: (caller: UpstreamCaller) => UpstreamCaller;
  adapters: (adapters: Adapters) => Adapters;
  egress: (egress: Egress) => Egress;
  ledger: (ledger: Ledger) => Ledger;
  chatLedger: (ledger: ChatLedger) => ChatLedger;
}

export const wrapsOf = (tracing: Tracing, genAi: GenAiMetrics): Wraps => ({
  caller: (caller) => tracedCaller(tracing, caller),
  adapters: (adapters) =>
    Object.fromEntries(
      Object.entries(adapters).map(([family, adapter]) => [family, tracedAdapter({ tracing, genAi }, family, adapter)]),
    ),
  egress: (egress) => tracedEgress(tracing, egress),
  ledger: (ledger) => traceLedger(tracing, ledger),
  chatLedger: (ledger) => traceChatLedger(tracing, ledger),
});

/** Puts statements into spans: those that are sent here when they are sent, those of MikroORM when they have ended. */
export const statementTraces = (tracing: Tracing): StatementTraces => ({
  wrap: (send) => tracedSend(tracing, send),
  ormStatementEnded: (ended) => noteStatement(tracing, ended),
});

/** The name of a statement says what it does. Its text and its values are left out, because values may be prompts. */
const tracedSend =
  (tracing: Tracing, send: Send): Send =>
  (statement) => {
    const name = statement.name === undefined || statement.name === '' ? 'statement' : statement.name;
    return inSpan(tracing, spanOfStatement(name), () => send(statement));
  };

const spanOfStatement = (name: string): SpanStart => ({
  name: `sql ${name}`,
  kind: 'client',
  facts: { 'db.system.name': 'postgresql', 'db.operation.name': name },
});

const noteStatement = (tracing: Tracing, { name, ms, failed }: EndedStatement): void =>
  tracing.begin({ ...spanOfStatement(name), startedAt: Date.now() - ms })?.end(failed ? 'error' : undefined);

/** Adds what the provider answered to the span of the adapter's call. Of the address only the host, which the operator configured. */
function tracedCaller(tracing: Tracing, caller: UpstreamCaller): UpstreamCaller {
  const noted = <Outcome extends { kind: string; status?: number }>(upstream: Upstream, outcome: Outcome): Outcome => {
    tracing.note({
      'server.address': URL.parse(upstream.baseUrl)?.hostname,
      'http.response.status_code': outcome.status,
      'tollgate.exchange': outcome.kind,
    });
    return outcome;
  };
  return {
    call: async (upstream, call) => noted(upstream, await caller.call(upstream, call)),
    stream: async (upstream, call) => noted(upstream, await caller.stream(upstream, call)),
    close: () => caller.close(),
  };
}

/** One span for each call of an adapter, which may be several requests. The span of a streamed chat ends with its answer. */
function tracedAdapter(
  { tracing, genAi }: { tracing: Tracing; genAi: GenAiMetrics },
  family: string,
  adapter: Adapter,
): Adapter {
  const start = (callName: string, { channelId }: Upstream, facts: SpanFacts = {}): SpanStart => ({
    name: `upstream ${callName}`,
    kind: 'client',
    facts: { 'tollgate.family': family, 'tollgate.channel_id': channelId, ...facts },
  });
  const spanned = async <Answer extends Outcome>(begin: SpanStart, work: () => Promise<Answer>): Promise<Answer> =>
    inSpan(tracing, begin, async (note) => {
      const answer = await work();
      note(outcomeOf(answer));
      return answer;
    });
  const chat = adapter.chat?.bind(adapter);
  const chatStream = adapter.chatStream?.bind(adapter);
  const submitMedia = adapter.submitMedia?.bind(adapter);
  const pollMedia = adapter.pollMedia?.bind(adapter);
  const findMedia = adapter.findMedia?.bind(adapter);
  const cancelMedia = adapter.cancelMedia?.bind(adapter);
  return {
    ...adapter,
    ...(chat && {
      chat: (upstream, request, options) => {
        const call = genAiChat(family, request, false);
        const begunAt = performance.now();
        return inSpan(
          tracing,
          start('chat', upstream, { 'tollgate.upstream_model': request.model, ...call, ...genAiInput(request) }),
          async (note) => {
            const answer = await chat(upstream, request, options);
            const reply = answer.kind === 'ok' ? answer.value : undefined;
            note({ ...outcomeOf(answer), ...(reply && { ...genAiAnswer(reply), ...genAiOutput(request, reply) }) });
            genAi.called(call, secondsSince(begunAt), failureOf(answer), reply);
            return answer;
          },
        );
      },
    }),
    ...(chatStream && {
      chatStream: (upstream, request, options) => {
        const call = genAiChat(family, request, true);
        const begunAt = performance.now();
        const hasEnded = (failure: string | undefined, answer?: GenAiAnswer) =>
          genAi.called(call, secondsSince(begunAt), failure, answer);
        const facts = { 'tollgate.upstream_model': request.model, ...call, ...genAiInput(request) };
        const begin = start('chat stream', upstream, facts);
        return untilItsEnd(tracing, { begin, request, hasEnded }, () => chatStream(upstream, request, options));
      },
    }),
    ...(submitMedia && {
      submitMedia: (upstream, request, options) =>
        spanned(
          start('submit', upstream, { 'tollgate.upstream_model': request.model, ...genAiMedia(family, request) }),
          () => submitMedia(upstream, request, options),
        ),
    }),
    ...(pollMedia && {
      pollMedia: (upstream, providerRef, options) =>
        spanned(start('poll', upstream), () => pollMedia(upstream, providerRef, options)),
    }),
    ...(findMedia && {
      findMedia: (upstream, request, options) =>
        spanned(start('find', upstream), () => findMedia(upstream, request, options)),
    }),
    ...(cancelMedia && {
      cancelMedia: (upstream, providerRef, options) =>
        inSpan(tracing, start('stop', upstream), () => cancelMedia(upstream, providerRef, options)),
    }),
  };
}

interface Outcome {
  kind: string;
  errorClass?: string;
}

const outcomeOf = ({ kind, errorClass }: Outcome): SpanFacts => ({
  'tollgate.outcome': kind,
  'error.type': errorClass,
});

const failureOf = ({ kind, errorClass }: Outcome): string | undefined =>
  kind === 'ok' ? undefined : (errorClass ?? kind);

const secondsSince = (begunAt: number): number => (performance.now() - begunAt) / 1_000;

interface TracedStream {
  begin: SpanStart;
  request: Pick<ChatRequest, 'traceContent'>;
  hasEnded: (failure: string | undefined, answer?: GenAiAnswer) => void;
}

/** `hasEnded` is called once, at the end of the answer or of a call without one, whether or not the trace is recorded. */
async function untilItsEnd(
  tracing: Tracing,
  { begin: start, request, hasEnded }: TracedStream,
  work: () => Promise<Attempt<ChatStream>>,
): Promise<Attempt<ChatStream>> {
  const span = tracing.begin(start);
  let isOpen = true;
  const end = (failure: string | undefined, answer?: ReturnType<typeof createGenAiReader>['answer']): void => {
    if (!isOpen) return;
    isOpen = false;
    hasEnded(failure, answer);
    if (answer) span?.note({ ...genAiAnswer(answer), ...genAiOutput(request, answer) });
  };
  try {
    const attempt = await (span ? span.run(work) : work());
    span?.note(outcomeOf(attempt));
    if (attempt.kind !== 'ok') {
      end(failureOf(attempt));
      span?.end();
      return attempt;
    }
    const { value: stream } = attempt;
    const reader = createGenAiReader(request.traceContent !== undefined);
    const each: ChatStream['each'] = async (take) => {
      let failure: string | undefined;
      try {
        await stream.each((pieces) => {
          reader.read(pieces);
          return take(pieces);
        });
      } catch (error) {
        failure = errorLabel(error);
        throw error;
      } finally {
        end(failure, reader.answer);
        span?.end(failure);
      }
    };
    const stop = () => {
      stream.stop();
      end(undefined, reader.answer);
      span?.end();
    };
    return { kind: 'ok', value: { each, wasHeldBack: () => stream.wasHeldBack(), stop } };
  } catch (error) {
    end(errorLabel(error));
    span?.end(errorLabel(error));
    throw error;
  }
}

/** Without the address, which is a client's or a signed one. */
function tracedEgress(tracing: Tracing, egress: Egress): Egress {
  return {
    ...egress,
    fetch: (url, options) =>
      inSpan(tracing, { name: `fetch ${options.purpose ?? 'callback'}`, kind: 'client' }, async (note) => {
        const answer = await egress.fetch(url, options);
        note(exchangeOf(answer));
        return answer;
      }),
    download: (url, options, sink) =>
      inSpan(tracing, { name: 'download', kind: 'client' }, async (note) => {
        const answer = await egress.download(url, options, sink);
        note(exchangeOf(answer));
        return answer;
      }),
  };
}

const exchangeOf = (answer: { kind: string; status?: number; reason?: string }): SpanFacts => ({
  'tollgate.exchange': answer.kind,
  'http.response.status_code': answer.status,
  'error.type': answer.reason,
});

/** Each command of the ledger in a span with its ids. The span of its statement is below it, also if the statement has other members. */
function traceLedger(tracing: Tracing, ledger: Ledger): Ledger {
  const createTask = ledger.createTask.bind(ledger);
  ledger.createTask = (task) => {
    const { taskId, modelId, credits } = task;
    const facts = { ...ofTask(taskId), 'tollgate.model': modelId, 'tollgate.credits': credits };
    return inSpan(tracing, { name: 'create task', facts }, () => createTask(task));
  };
  const reserveTask = ledger.reserveTask.bind(ledger);
  ledger.reserveTask = (taskId, byWorkflow) =>
    inSpan(tracing, { name: 'reserve credits', facts: ofTask(taskId) }, () => reserveTask(taskId, byWorkflow));
  const finishTask = ledger.finishTask.bind(ledger);
  ledger.finishTask = (end) => inSpan(tracing, { name: 'end task', facts: ofTask(end.taskId) }, () => finishTask(end));
  const finishAttempt = ledger.finishAttempt.bind(ledger);
  ledger.finishAttempt = (end) =>
    inSpan(tracing, { name: 'end attempt and task', facts: ofTask(end.taskId) }, () => finishAttempt(end));
  return ledger;
}

const ofTask = (taskId: string): SpanFacts => ({ 'tollgate.task_id': taskId });

/** The same for chats. */
function traceChatLedger(tracing: Tracing, ledger: ChatLedger): ChatLedger {
  const admit = ledger.admit.bind(ledger);
  ledger.admit = (request) => {
    const { modelId, credits } = request;
    const facts = { 'tollgate.model': modelId, 'tollgate.credits': credits };
    return inSpan(tracing, { name: 'admit chat', facts }, () => admit(request));
  };
  const nextAttempt = ledger.nextAttempt.bind(ledger);
  ledger.nextAttempt = (next) => inSpan(tracing, { name: 'begin next attempt' }, () => nextAttempt(next));
  const end = ledger.end.bind(ledger);
  ledger.end = (settlement) =>
    inSpan(tracing, { name: 'settle chat', facts: { 'tollgate.credits': settlement.settle } }, () => end(settlement));
  return ledger;
}
