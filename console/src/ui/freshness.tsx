import { Alert, Text } from '@mantine/core';
import { notifyManager, useQueryClient, type Query, type QueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useSyncExternalStore } from 'react';
import { ApiError } from '../api/request.ts';
import { useTick } from './clock.ts';
import { clockTime } from './format.ts';
import { AlertIcon } from './icons.tsx';

/** A page whose reading fails for so long says so. */
const staleMs = 15_000;
const refreshMs = 10_000;
/** What is read for longer than this is no page that is read again and again. */
const stillMs = 60_000;

const isStillQuery = (query: Query): boolean =>
  query.observers.some(({ options: { staleTime } }) => typeof staleTime !== 'number' || staleTime > stillMs);
const isSession = ({ queryKey }: Query): boolean => queryKey[0] === 'session';
/** Names stand beside what a page shows, and are read again with it. */
const isOfPage = (query: Query): boolean =>
  query.isActive() && !isSession(query) && !isStillQuery(query) && query.queryKey[1] !== 'newest';

function isFailing({ state }: Query): boolean {
  if (state.fetchStatus === 'paused') return true;
  const reason: unknown = state.fetchFailureReason ?? state.error;
  return reason !== null && !isRefusal(reason);
}

/** A refusal is an answer. */
const isRefusal = (reason: unknown): boolean =>
  reason instanceof ApiError && reason.status !== 0 && reason.status < 500;

/** When each was answered. What was refused, such as a summary that does not exist yet, was answered too. */
const readTimes = (queries: readonly Query[]): number[] =>
  queries
    .map(({ state }) => (isRefusal(state.error) ? state.errorUpdatedAt : state.dataUpdatedAt))
    .filter((at) => at > 0);

interface Freshness {
  /** When the oldest of what the page shows was read, in milliseconds; 0 for never. */
  readAt: number;
  isFailing: boolean;
}

function freshnessOf(client: QueryClient): Freshness {
  const queries = client.getQueryCache().getAll();
  const ofPage = queries.filter(isOfPage);
  const watched = queries.filter((query) => isSession(query) || isOfPage(query));
  const fails = watched.some(isFailing);
  // A page that was opened in an outage has read nothing of its own yet, and says since when.
  // The error of a query without data is gone while it is tried again.
  const hasFailed = fails || ofPage.some(({ state }) => state.errorUpdatedAt > 0);
  const isUnread = hasFailed && readTimes(ofPage).length === 0;
  const read = readTimes(ofPage.length === 0 || isUnread ? watched : ofPage);
  return { readAt: read.length === 0 ? 0 : Math.min(...read), isFailing: fails };
}

function useFreshness(): Freshness & { isStale: boolean } {
  const client = useQueryClient();
  const subscribe = useCallback(
    (listener: () => void) => client.getQueryCache().subscribe(notifyManager.batchCalls(listener)),
    [client],
  );
  // As one number, which is the same until something changes.
  const packed = useSyncExternalStore(subscribe, () => {
    const { readAt, isFailing: fails } = freshnessOf(client);
    return fails ? -readAt - 1 : readAt;
  });
  useTick();
  const isFailingNow = packed < 0;
  const readAt = isFailingNow ? -packed - 1 : packed;
  return { readAt, isFailing: isFailingNow, isStale: isFailingNow && readAt > 0 && Date.now() - readAt >= staleMs };
}

/** When the page was read, unless it reads nothing, and since when it could not be read again. */
export function ReadAt({ readsNothing }: { readsNothing: boolean }) {
  const { readAt, isStale } = useFreshness();
  if (readAt === 0 || (readsNothing && !isStale)) return null;
  return isStale ? (
    <Text size="xs" fw={600} c="red">
      Not updated since {clockTime(readAt)}
    </Text>
  ) : (
    <Text size="xs" c="dimmed">
      Read at {clockTime(readAt)}
      {isReading() && ', not read again while you read below or select'}
    </Text>
  );
}

/** Stands over every page while the gateway does not answer. */
export function AwayBanner() {
  const { isStale } = useFreshness();
  return (
    isStale && (
      <Alert color="red" variant="light" icon={<AlertIcon />} title="The gateway does not answer" role="alert" mb="md">
        This page shows what it read last. It reads again by itself, and this message ends when that succeeds.
      </Alert>
    )
  );
}

/** A person who reads below the first rows, selects, or works in a dialog must not lose the place. */
function isReading(): boolean {
  const isInDialog = document.querySelector('[role="dialog"]') !== null;
  const isSelecting = document.getSelection()?.type === 'Range' || document.querySelector('.selects :checked') !== null;
  return isInDialog || isSelecting || window.scrollY > 200;
}

/** Reads what the page shows again and again. While that fails it also tries for a person who reads below. */
export function useAutoRefresh(): void {
  const client = useQueryClient();
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState !== 'visible') return;
      const { isFailing: fails } = freshnessOf(client);
      const mayMove = fails || !isReading();
      void client.refetchQueries(
        {
          predicate: (query) =>
            query.isActive() &&
            (isSession(query) || (mayMove && !isStillQuery(query) && query.state.fetchStatus === 'idle')),
        },
        { cancelRefetch: false },
      );
    }, refreshMs);
    return () => clearInterval(timer);
  }, [client]);
}
