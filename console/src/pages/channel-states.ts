import type { Channel } from '../api/types.ts';

/** The states in the words of the documentation. */
export const stateWords: Record<Channel['state'], string> = {
  ready: 'available',
  disabled: 'disabled',
  resting: 'cooling down',
  open: 'tripped',
  alarm: 'alarm',
  half_open: 'probing',
  not_drawn: 'not drawn',
};
