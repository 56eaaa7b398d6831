import type { ChatView } from '../../../db/chat/chats.ts';
import { sentenceOf } from '../../../domain/chat/chat-end-reason.ts';

/** Why a chat ended as it did, in sentences for people. */
export function explainChat(chat: ChatView): string {
  const { creditsHeld: held, creditsCharged: charged, creditsGivenBack: returned } = chat;
  const after = returned > 0 ? `${credits(returned)} ${were(returned)} given back later.` : null;
  return [...sentencesOf(chat, held, charged), after].filter((sentence) => sentence !== null).join(' ');
}

function sentencesOf({ outcome, reason }: ChatView, held: number, charged: number): string[] {
  const why = reason === null ? null : sentenceOf(reason);
  if (outcome === 'running') return [`The chat runs. ${credits(held)} ${were(held, 'are')} held for it.`];
  if (outcome === 'refunded')
    return [
      why ?? 'An earlier release refunded this chat and did not record why.',
      `The hold of ${credits(held)} was given back, and nothing was charged.`,
    ];
  if (why === null)
    return ['The chat ended with an answer.', `${credits(charged)} of ${held} held ${were(charged)} charged.`];
  if (outcome === 'succeeded') return [why, `${credits(charged)} of ${held} held ${were(charged)} charged.`];
  const about =
    reason === 'empty_answer'
      ? 'Nothing was charged.'
      : `What ${reason === 'client_left' ? 'was generated' : 'came until then'} was charged: ${credits(charged)} of ${held} held.`;
  return [why, about];
}

const credits = (count: number): string => `${count} ${count === 1 ? 'credit' : 'credits'}`;
const were = (count: number, many: 'were' | 'are' = 'were'): string =>
  count === 1 ? { were: 'was', are: 'is' }[many] : many;
