/** The states of a channel, and of one of its models, in the words of docs/ARCHITECTURE.md. Scripts read the older words, the keys. */
export const channelStateWords = {
  ready: 'available',
  disabled: 'disabled',
  resting: 'cooling down',
  open: 'tripped',
  alarm: 'alarm',
  half_open: 'probing',
  not_drawn: 'not drawn',
} as const;
