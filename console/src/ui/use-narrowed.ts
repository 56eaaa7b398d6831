import { notifications } from '@mantine/notifications';
import { useEffect } from 'react';
import { ApiError } from '../api/request.ts';

const lastDay = '24h';

/** Shows the last day of a list that has too many rows to be sorted by a column, unless a time was chosen, and says so. */
export function useNarrowed(
  error: Error | null,
  {
    created_after: from,
    created_before: to,
  }: { created_after?: string | undefined; created_before?: string | undefined },
  show: (changes: { created_after: string }) => void,
): void {
  const isTooLong = error instanceof ApiError && error.code === 'invalid_value' && error.param === 'sort';
  const narrows = isTooLong && from === undefined && to === undefined;
  useEffect(() => {
    if (!narrows) return;
    show({ created_after: lastDay });
    notifications.show({ message: 'There are too many rows to sort all of them, so these are of the last 24 hours.' });
    // Without the function, which is another one after each rendering.
  }, [narrows]);
}
