import type { JsonObject } from '../../domain/json.ts';
import { ofEachPart, partsWithin, type TokenPart } from '../../domain/catalog/token-classes.ts';
import type { ChatAnswered } from '../../services/chat/chat-input.ts';

/** A chat's reply and the values that a dialect adds to it. */
export interface ChatAnswer
  extends Pick<ChatAnswered, 'reply' | 'usage' | 'warning'>, Partial<Pick<ChatAnswered, 'credits' | 'costDetails'>> {
  /** The gateway's id, not the provider's. */
  id: string;
  /** Unix seconds. */
  created: number;
  /** The name that the client asked for: the model's id or an alias of it. */
  model: string;
  /** The vendor in the model's catalog entry, whose own clients may expect another form. Not on the routes of the specification. */
  ownedBy?: string;
}

/** What the usage of an answer is written of. */
export type AnswerUsage = Pick<ChatAnswer, 'reply' | 'usage' | 'credits' | 'costDetails'>;

/** The parts of an answer's tokens: those that are billed, else those that the provider reported, each within its whole. */
export const answerTokenParts = ({ reply, usage }: Pick<ChatAnswer, 'reply' | 'usage'>): Record<TokenPart, number> =>
  partsWithin(
    usage,
    ofEachPart((part) => usage[part] ?? reply.usage?.[`${part}Tokens`]),
  );

/** What an answer cost, as a member of its usage: no vendor has a field for it, and their SDKs keep or drop it. */
export const costMember = ({ credits, costDetails }: Pick<ChatAnswer, 'credits' | 'costDetails'>) => ({
  ...(credits !== undefined && costDetails && { tollgate: { credits, cost_details: { ...costDetails } } }),
});

/** What the last event of a stream says of the answer beside its usage. */
export const tollgateOf = ({
  credits,
  attempts,
  costDetails,
  warning,
}: Pick<ChatAnswered, 'credits' | 'attempts' | 'warning'> & Pick<ChatAnswer, 'costDetails'>): JsonObject => ({
  credits,
  attempts,
  ...(costDetails && { cost_details: { ...costDetails } }),
  ...(warning !== undefined && { warning }),
});
