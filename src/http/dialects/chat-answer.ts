import type { ChatAnswered } from '../../services/chat/prepare-chat.ts';

/** A chat's reply and the values that a dialect adds to it. */
export interface ChatAnswer extends Pick<ChatAnswered, 'reply' | 'usage' | 'warning'> {
  /** The gateway's id, not the provider's. */
  id: string;
  /** Unix seconds. */
  created: number;
  /** The name that the client asked for: the model's id or an alias of it. */
  model: string;
}

/** A part of a count, never negative and never above the whole. */
export const within = (part: number | undefined, whole: number): number => Math.min(Math.max(part ?? 0, 0), whole);
