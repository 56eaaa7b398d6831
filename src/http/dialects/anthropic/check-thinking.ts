import type { z } from 'zod';
import type { CountBody } from './anthropic-chat-fields.ts';
import { fieldError, isNonNull } from '../chat-fields.ts';
import type { Reading } from '../reading.ts';

/**
 * Anthropic's own rules. Beyond them its models would think less than was asked, or not at all. Between the calls of tools the budget may be larger
 * (https://platform.claude.com/docs/en/build-with-claude/extended-thinking, "Interleaved thinking", read on 2026-11-28). Qwen Code names that beta
 * also where it offers no tools. Throws `invalid_value`. Without `maxTokens` tokens are counted only.
 */
export function checkThinking(
  { thinking, tools, tool_choice: choice }: Pick<z.infer<typeof CountBody>, 'thinking' | 'tools' | 'tool_choice'>,
  maxTokens: number | null,
  { betas = [] }: Reading,
): void {
  if (!isNonNull(thinking) || thinking.type === 'disabled') return;
  const mayExceed = Boolean(tools?.length) || maxTokens === null || betas.includes('interleaved-thinking-2025-05-14');
  if (thinking.type === 'enabled' && !mayExceed && thinking.budget_tokens >= maxTokens)
    throw fieldError('thinking.budget_tokens', 'must be less than max_tokens');
  if (choice?.type === 'any' || choice?.type === 'tool')
    throw fieldError('tool_choice', 'must not force a tool while thinking is enabled');
}
