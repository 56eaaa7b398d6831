import type { ChatUsage } from '../../domain/chat/chat.ts';

/** The counts of an OpenAI-compatible provider. Null for a missing one. */
interface ReportedCounts {
  prompt: number | null;
  completion: number | null;
  total: number | null;
  cached: number | null | undefined;
  cacheWrite: number | null | undefined;
  reasoning: number | null | undefined;
}

/**
 * The whole prompt and the whole output. At OpenAI the cached part is in the prompt and the thoughts are in the completion. xAI and Gemini's
 * OpenAI dialect count thoughts beside the completion, and some servers count cached tokens beside the prompt
 * (https://docs.x.ai/docs/guides/reasoning, read on 2026-11-26). A part that is larger than its whole, or a total that is larger than its
 * parts, tells them apart.
 */
export function wholeUsage({
  prompt,
  completion,
  total,
  cached,
  cacheWrite,
  reasoning,
}: ReportedCounts): ChatUsage | null {
  if (prompt === null && completion === null) return null;
  const inputTokens = promptWithCache(prompt, cached ?? 0, total === null ? null : total - (completion ?? 0));
  // A prompt of zero tokens is a missing count, so nothing can be taken from the total for it.
  const rest = total !== null && inputTokens !== null && inputTokens > 0 ? total - inputTokens : null;
  return {
    inputTokens,
    outputTokens: completionWithThoughts(completion, reasoning ?? 0, rest),
    cachedTokens: cached ?? undefined,
    cacheWriteTokens: cacheWrite ?? undefined,
    reasoningTokens: reasoning ?? undefined,
  };
}

function promptWithCache(prompt: number | null, cached: number, rest: number | null): number | null {
  if (prompt === null || prompt <= 0 || cached <= prompt) return prompt;
  return rest === null ? prompt + cached : Math.max(prompt, rest);
}

function completionWithThoughts(completion: number | null, reasoning: number, rest: number | null): number | null {
  if (completion === null || completion < 0) return completion;
  if (rest !== null && (reasoning > completion || completion < rest)) return Math.max(completion, rest);
  return reasoning > completion ? completion + reasoning : completion;
}
