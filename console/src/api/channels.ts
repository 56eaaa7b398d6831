import { queryOptions } from '@tanstack/react-query';
import { read } from './admin.ts';

/** All channels. One page that reads them leaves them to the next. */
export const channelsQuery = queryOptions({ queryKey: ['channels'], queryFn: () => read('/channels', {}) });
