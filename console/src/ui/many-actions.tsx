import { Button, Group, Text } from '@mantine/core';
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
  /** Does it with one of them. False if nothing changed. */
  each: (id: string) => Promise<boolean>;
  onDone: () => void;
}

/** Does something with all chosen rows, one after the other, after asking once. What is refused does not stop the others. */
export function ManyActions({ ids, act, noun, about, danger = false, each, onDone }: ManyActionsProps) {
  const [opened, setOpened] = useState(false);
  if (ids.length === 0) return null;
  const counted = `${number(ids.length)} ${ids.length === 1 ? noun[0] : noun[1]}`;
  const run = async (): Promise<{ done: number; refused: string[] }> => {
    let done = 0;
    const refused: string[] = [];
    for (const id of ids)
      await each(id).then(
        (changed) => {
          done += changed ? 1 : 0;
        },
        (error: unknown) => refused.push(`${id}: ${error instanceof Error ? error.message : String(error)}`),
      );
    return { done, refused };
  };
  return (
    <Group gap="sm" role="status">
      <Text size="sm">{counted} selected</Text>
      <Button size="compact-sm" variant="default" onClick={() => setOpened(true)}>
        {act}
      </Button>
      <ActionDialog
        opened={opened}
        onClose={() => setOpened(false)}
        title={`${act}: ${counted}`}
        about={about}
        act={act}
        danger={danger}
        run={run}
        done={({ done, refused }) =>
          `Done for ${number(done)} of ${number(ids.length)}.${refused.length > 0 ? ` ${refused.join(' ')}` : ''}`
        }
        onDone={onDone}
      />
    </Group>
  );
}
