import { z } from 'zod';
import type { ChatUsage } from '../../domain/chat/chat.ts';

/** A token count in a reply. Anything but an integer counts as absent, because the answer may still be usable. */
export const tokenCount = z
  .int()
  .nullish()
  .catch(null)
  .transform((value) => value ?? null);

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
  const promptByTotal = total === null ? null : total - (completion ?? 0);
  const inputTokens = promptWithCache({ prompt, cached: cached ?? 0, reasoning: reasoning ?? 0, promptByTotal });
  // A prompt of zero tokens is a missing count, so nothing can be taken from the total for it.
  const completionByTotal = total !== null && inputTokens !== null && inputTokens > 0 ? total - inputTokens : null;
  return {
    inputTokens,
    outputTokens: completionWithThoughts(completion, reasoning ?? 0, completionByTotal),
    cachedTokens: cached ?? undefined,
    cacheWriteTokens: cacheWrite ?? undefined,
    reasoningTokens: reasoning ?? undefined,
  };
}

interface PromptFacts {
  prompt: number | null;
  cached: number;
  reasoning: number;
  promptByTotal: number | null;
}

function promptWithCache({ prompt, cached, reasoning, promptByTotal }: PromptFacts): number | null {
  if (prompt === null || prompt <= 0) return prompt;
  const unexplained = promptByTotal === null ? 0 : promptByTotal - prompt;
  // What the total has beyond both counts is the cached part if it is as large, and thoughts if they are.
  const isBeside = cached > 0 && unexplained !== reasoning && [cached, cached + reasoning].includes(unexplained);
  if (isBeside || (cached > prompt && promptByTotal === null)) return prompt + cached;
  return cached > prompt ? Math.max(prompt, promptByTotal ?? 0) : prompt;
}

function completionWithThoughts(
  completion: number | null,
  reasoning: number,
  completionByTotal: number | null,
): number | null {
  if (completion === null || completion < 0) return completion;
  const withThoughts = reasoning > completion ? completion + reasoning : completion;
  return completionByTotal === null ? withThoughts : Math.max(completion, completionByTotal);
}
