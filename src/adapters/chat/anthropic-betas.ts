import type { ChatMessage, UpstreamChat } from '../../domain/chat/chat.ts';
import { fieldsIn } from './event-fields.ts';

/**
 * The beta features that a client may switch on: those that change neither the price nor where content is kept
 * (https://platform.claude.com/docs/en/api/beta-headers, the types of `@anthropic-ai/sdk` 1.12.0 and the names that Claude Code sends, read
 * 2026-11-26). `compact-2026-01-12` is none: the tokens of a compaction are not in the counts of an answer (`BetaIterationsUsage` of that SDK), and
 * no dialect has its block, without which the next turn compacts again.
 */
const betasSent: readonly string[] = [
  'advanced-tool-use-2025-11-20',
  'claude-code-20250219',
  'context-management-2025-06-27',
  'effort-2025-11-24',
  'extended-cache-ttl-2025-04-11',
  'fine-grained-tool-streaming-2025-05-14',
  'interleaved-thinking-2025-05-14',
  'mid-conversation-output-config-2026-07-01',
  'mid-conversation-system-2026-04-07',
  'mid-conversation-system-clear-at-2026-08-21',
  'model-context-window-exceeded-2025-08-26',
  'per-turn-control-2026-07-01',
  'prompt-caching-scope-2026-01-05',
  'redact-thinking-2026-02-12',
  'structured-outputs-2025-11-13',
  'thinking-binding-controls-2026-08-01',
  'thinking-display-updates-2026-08-18',
  'tool-examples-2025-10-29',
  'tool-search-tool-2025-10-19',
];

const hasField =
  (field: string) =>
  ({ vendor }: ChatMessage): boolean =>
    vendor?.[field] !== undefined;

/** Fields that Anthropic takes with a beta alone, and how a request has them. Not every client names the beta. */
const betasNeeded: readonly [beta: string, isNeeded: (request: UpstreamChat) => boolean][] = [
  ['context-management-2025-06-27', ({ vendor }) => vendor?.fields['context_management'] !== undefined],
  [
    'thinking-binding-controls-2026-08-01',
    ({ vendor }) => fieldsIn(vendor?.fields['thinking'])?.['block_binding'] !== undefined,
  ],
  ['mid-conversation-output-config-2026-07-01', ({ messages }) => messages.some(hasField('output_config'))],
  ['mid-conversation-system-clear-at-2026-08-21', ({ messages }) => messages.some(hasField('clear_at'))],
];

/** The header `anthropic-beta`: what the client switches on and may, and what the fields of its request need. */
export function betaHeader(request: UpstreamChat): Record<string, string> {
  const requested = (request.vendor?.betas ?? []).filter((beta) => betasSent.includes(beta));
  const needed = betasNeeded.flatMap(([beta, isNeeded]) => (isNeeded(request) ? [beta] : []));
  const betas = [...new Set([...requested, ...needed])];
  return betas.length > 0 ? { 'anthropic-beta': betas.join(',') } : {};
}
