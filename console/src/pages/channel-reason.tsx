import { Text } from '@mantine/core';
import type { ChannelReason } from '../api/admin-types.ts';
import { time } from '../ui/format.ts';
import { ResourceLink } from '../ui/links.tsx';
import { stateWords } from './state-words.ts';

/** What an operator can do about a state. */
const remedies: Record<ChannelReason['kind'], string> = {
  resting: 'It comes back by itself. If it does not, check the account at the provider.',
  open: 'It is tried again by itself. Test the channel to see what the provider answers now.',
  half_open: 'The next call decides whether it is available again.',
  alarm: 'Check the credential and the account at the provider, then test the channel.',
  not_drawn: "The provider's list lacks this model. Correct its name in the catalog, or switch off the list check.",
};

/** Why a channel, or one of its models, is not simply available. */
export function Reason({ reason: { kind, model, reason, until } }: { reason: ChannelReason }) {
  const why = reason === null ? '' : ` (${reason.replaceAll('_', ' ')})`;
  const end = until === null ? '' : ` until ${time(until)}`;
  return (
    <Text size="xs" maw={320} ta="left">
      <b>
        {model === '*' ? 'All models' : <ResourceLink of="model" id={model} inline />}: {stateWords[kind]}
        {why}
        {end}.
      </b>{' '}
      {remedies[kind]}
    </Text>
  );
}
