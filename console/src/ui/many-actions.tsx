import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { ActionDialog } from './action-dialog.tsx';
import { number } from './format.ts';

interface ManyActionsProps {
  /** The chosen rows that the action fits. */
  ids: readonly string[];
  act: string;
  noun: [one: string, many: string];
  about: string;
  danger?: boolean;
  /** Performs the action on one id. Resolves to false if nothing changed. */
  each: (id: string) => Promise<boolean>;
  onDone: () => void;
}

/**
 * Performs one action on all chosen rows in turn, after one confirmation. An error for one row does not stop the rest: the dialog stays open
 * with those that failed, so that they can be tried again.
 */
export function ManyActions({ ids, act, noun, about, danger = false, each, onDone }: ManyActionsProps) {
  // The rows of the open dialog: the list is read again meanwhile, and rows that have ended leave it.
  const [dialogIds, setDialogIds] = useState<readonly string[] | null>(null);
  const [failures, setFailures] = useState<readonly Failure[]>([]);
  const shown = dialogIds ?? ids;
  if (shown.length === 0) return null;
  const counted = (count: number): string => `${number(count)} ${count === 1 ? noun[0] : noun[1]}`;
  const close = (): void => {
    setDialogIds(null);
    setFailures([]);
  };
  const run = async (): Promise<Result> => {
    const result: Result = { all: shown.length, done: 0, failures: [] };
    for (const id of shown)
      await each(id).then(
        (changed) => {
          result.done += changed ? 1 : 0;
        },
        (error: unknown) =>
          result.failures.push({ id, message: error instanceof Error ? error.message : String(error) }),
      );
    return result;
  };
  return (
    <Group gap="sm" role="status">
      <Text size="sm">{counted(ids.length)} selected</Text>
      <Button size="compact-sm" variant="default" onClick={() => setDialogIds(ids)}>
        {act}
      </Button>
      <ActionDialog
        opened={dialogIds !== null}
        onClose={close}
        title={`${act}: ${counted(shown.length)}`}
        about={about}
        act={act}
        danger={danger}
        notice={failures.length > 0 && <Failures of={failures} />}
        run={run}
        done={({ all, done, failures: { length } }) =>
          length > 0
            ? null
            : `Done for ${number(done)} of ${number(all)}.${done < all ? ' Nothing changed for the others.' : ''}`
        }
        onDone={({ failures: left }) => {
          if (left.length === 0) return onDone();
          setFailures(left);
          setDialogIds(left.map(({ id }) => id));
        }}
      />
    </Group>
  );
}

interface Failure {
  id: string;
  message: string;
}

interface Result {
  all: number;
  done: number;
  failures: Failure[];
}

const Failures = ({ of }: { of: readonly Failure[] }) => (
  <Alert color="red" role="alert" title="These failed. The others are done.">
    <Stack gap={4}>
      {of.map(({ id, message }) => (
        <Text key={id} size="sm">
          {id}: {message}
        </Text>
      ))}
    </Stack>
  </Alert>
);
