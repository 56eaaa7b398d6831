import { channelStateWords } from '../../../src/domain/channels/channel-state.ts';
import type { Channel } from '../api/admin-types.ts';

/** The states in the words of the documentation, as the command line has them. */
export const stateWords: Record<Channel['state'], string> = channelStateWords;
