import { Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { ClientApi } from '../../api/playground.ts';
import type { Model } from '../../api/client-types.ts';
import { credits, number } from '../../ui/format.ts';

interface Estimated {
  system: string;
  /** Everything that is said, without pictures. */
  texts: readonly string[];
  maxTokens: number | undefined;
}

/** What a question would cost one model, by the gateway's own count of its tokens, which costs nothing. */
export function ChatEstimate({
  api,
  model,
  request,
  isOne,
}: {
  api: ClientApi;
  model: Model;
  request: Estimated;
  isOne: boolean;
}) {
  const [settled] = useDebouncedValue(JSON.stringify(request), 400);
  const { data: tokens } = useQuery({
    queryKey: ['chat-estimate', model.id, settled],
    queryFn: ({ signal }) => countTokens(api, model, JSON.parse(settled) as Estimated, signal),
    placeholderData: keepPreviousData,
    retry: false,
  });
  const { pricing } = model;
  const priceOf = (input: number, output: number): number =>
    Math.max(
      pricing.min_credits_per_request,
      Math.ceil((input * pricing.credits_per_1k_input_tokens + output * pricing.credits_per_1k_output_tokens) / 1_000),
    );
  const price =
    tokens === undefined
      ? `${credits(pricing.credits_per_1k_input_tokens)} per 1,000 tokens in, ${credits(pricing.credits_per_1k_output_tokens)} out`
      : `about ${number(tokens)} tokens in: ${credits(priceOf(tokens, 0))}` +
        (request.maxTokens === undefined
          ? ''
          : `, with the longest answer ${credits(priceOf(tokens, request.maxTokens))}`);
  return (
    <Text size="sm" c="dimmed" role="status" aria-live="polite">
      {isOne ? 'Estimate' : model.display_name}: {price}
    </Text>
  );
}

async function countTokens(
  api: ClientApi,
  model: Model,
  { system, texts }: Estimated,
  signal: AbortSignal,
): Promise<number> {
  const parts = texts.filter((text) => text.trim() !== '');
  if (parts.length === 0) return 0;
  const messages = [{ role: 'user', content: parts.map((text) => ({ type: 'text', text })) }];
  const body = { model: model.id, messages, ...(system.trim() !== '' && { system }) };
  const { input_tokens: tokens } = await api.json<{ input_tokens: number }>('/v1/messages/count_tokens', {
    method: 'POST',
    body,
    signal,
  });
  return tokens;
}
