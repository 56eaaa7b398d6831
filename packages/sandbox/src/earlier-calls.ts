import { objectsOf, type CameWith, type Fields } from './chat.ts';

/** How one family writes them. */
export interface EarlierWords {
  /** Every message, item or part of the conversation. */
  parts: readonly Fields[];
  callId: (part: Fields) => unknown;
  resultId: (part: Fields) => unknown;
  isPicture: (part: Fields) => boolean;
}

/**
 * Counts both, so that tests notice a picture that was dropped and calls that were lost or merged: a call counts once for each id, and only with a
 * result of the same id.
 */
export function cameWith({ parts, callId, resultId, isPicture }: EarlierWords): CameWith {
  const idsOf = (idOf: (part: Fields) => unknown): Set<unknown> =>
    new Set(parts.map(idOf).filter((id) => typeof id === 'string'));
  const called = idsOf(callId);
  return {
    pictures: parts.filter(isPicture).length,
    results: [...idsOf(resultId)].filter((id) => called.has(id)).length,
  };
}

/** The parts of a content that is text or a list. */
export const partsIn = (content: unknown): Fields[] => (typeof content === 'string' ? [] : objectsOf(content));
