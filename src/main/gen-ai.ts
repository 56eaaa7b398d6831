import { Histogram, type Registry } from 'prom-client';
import type { ChatDelta } from '../domain/chat/chat-stream.ts';
import type { ChatReply, UpstreamChat } from '../domain/chat/chat.ts';
import type { SpanFacts } from '../platform/observe/tracer.ts';

/**
 * What spans and metrics say in the words of OpenTelemetry's semantic conventions for generative AI (gen_ai.*, 1.38), which tools such as Langfuse
 * read. They have no prompt, no answer and no tool: `gen-ai-content.ts` has the content of projects that have opted in.
 */
type GenAiCall = SpanFacts & { 'gen_ai.operation.name': string; 'gen_ai.provider.name': string };

/** The conventions' own names. Any other family is named as here. */
const providerNames: Record<string, string> = {
  gemini: 'gcp.gemini',
  xai: 'x_ai',
};

export const genAiChat = (family: string, request: UpstreamChat, isStream: boolean): GenAiCall => ({
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': providerNames[family] ?? family,
  'gen_ai.request.model': request.model,
  'gen_ai.request.max_tokens': request.maxTokens,
  'gen_ai.request.temperature': request.temperature,
  'gen_ai.request.top_p': request.topP,
  'gen_ai.request.top_k': request.topK,
  'gen_ai.request.seed': request.seed,
  'gen_ai.request.stream': isStream || undefined,
  'gen_ai.output.type': request.responseFormat && request.responseFormat.type !== 'text' ? 'json' : 'text',
});

export const genAiMedia = (family: string, { model, type }: { model: string; type: string }): GenAiCall => ({
  'gen_ai.operation.name': 'generate_content',
  'gen_ai.provider.name': providerNames[family] ?? family,
  'gen_ai.request.model': model,
  'gen_ai.output.type': type,
});

/** What a provider said at the end of a chat. Counts as it reported them. */
export type GenAiAnswer = Pick<ChatReply, 'usage'> & { finishReason: ChatReply['finishReason'] | null };

export const genAiAnswer = ({ finishReason, usage }: GenAiAnswer): SpanFacts => ({
  'gen_ai.response.finish_reasons': finishReason === null ? undefined : [finishReason],
  'gen_ai.usage.input_tokens': usage?.inputTokens,
  'gen_ai.usage.output_tokens': usage?.outputTokens,
  'gen_ai.usage.cache_read.input_tokens': usage?.cachedTokens,
  'gen_ai.usage.cache_creation.input_tokens': usage?.cacheWriteTokens,
});

/** Reads the end of a streamed answer from its pieces, and what it says if traces may have that. */
export function createGenAiReader(hasContent: boolean) {
  const answer: StreamedAnswer = { finishReason: null, usage: null, content: null, toolCalls: [] };
  return {
    answer,
    read(pieces: readonly ChatDelta[]): void {
      for (const piece of pieces) {
        if (hasContent) addContent(answer, piece);
        if (piece.kind === 'finish') answer.finishReason = piece.reason;
        if (piece.kind === 'usage') {
          const { inputTokens, outputTokens } = piece.usage;
          answer.usage = {
            ...answer.usage,
            ...piece.usage,
            inputTokens: inputTokens ?? answer.usage?.inputTokens ?? null,
            outputTokens: outputTokens ?? answer.usage?.outputTokens ?? null,
          };
        }
      }
    },
  };
}

type StreamedAnswer = GenAiAnswer & Pick<ChatReply, 'content' | 'toolCalls'>;

/** More of an answer is in no span. */
const contentMax = 20_000;

function addContent(answer: StreamedAnswer, piece: ChatDelta): void {
  if (piece.kind === 'text' && (answer.content ?? '').length < contentMax) {
    answer.content = (answer.content ?? '') + piece.text;
  }
  if (piece.kind !== 'tool_call') return;
  const call = (answer.toolCalls[piece.index] ??= { id: '', name: '', arguments: '' });
  call.id ||= piece.id ?? '';
  call.name ||= piece.name ?? '';
  if (call.arguments.length < contentMax) call.arguments += piece.arguments;
}

export interface GenAiMetrics {
  /** Notes a call that has ended, also one whose trace is not recorded. */
  called(call: GenAiCall, seconds: number, failure: string | undefined, answer?: GenAiAnswer): void;
}

const callLabels = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'] as const;

/**
 * The conventions' two metrics of a client, by their names in Prometheus and with their buckets. Only where traces are on, because each
 * observation takes a chat some microseconds.
 */
export function createGenAiMetrics(registry: Registry): GenAiMetrics {
  const registers = [registry];
  const durations = new Histogram({
    name: 'gen_ai_client_operation_duration_seconds',
    help: 'Calls to providers; of streams, to the end of the answer.',
    labelNames: [...callLabels, 'error_type'],
    buckets: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
    registers,
  });
  const tokens = new Histogram({
    name: 'gen_ai_client_token_usage',
    help: 'Tokens of chats, as the providers report them.',
    labelNames: [...callLabels, 'gen_ai_token_type'],
    buckets: [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864],
    registers,
  });
  return {
    called(call, seconds, failure, answer) {
      const values = [call['gen_ai.operation.name'], call['gen_ai.provider.name'], call['gen_ai.request.model']];
      const labels = Object.fromEntries(callLabels.map((label, index) => [label, String(values[index])]));
      durations.observe({ ...labels, error_type: failure ?? '' }, seconds);
      const { inputTokens = null, outputTokens = null } = answer?.usage ?? {};
      if (inputTokens !== null) tokens.observe({ ...labels, gen_ai_token_type: 'input' }, inputTokens);
      if (outputTokens !== null) tokens.observe({ ...labels, gen_ai_token_type: 'output' }, outputTokens);
    },
  };
}
