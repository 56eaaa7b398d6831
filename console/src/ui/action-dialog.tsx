import { Button, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Dialog, DialogActions } from './dialog.tsx';
import { ErrorAlert } from './page.tsx';
import { isConflict } from '../api/request.ts';

interface ActionDialogProps<T> {
  opened: boolean;
  onClose: () => void;
  title: string;
  /** What the action does and what it cannot undo. */
  about: ReactNode;
  /** The label of the button that acts. */
  act: string;
  /** The label of the button that changes nothing. */
  dismiss?: string;
  danger?: boolean;
  disabled?: boolean;
  size?: 'md' | 'lg';
  /** What the person has to know before it is tried again; it says why the last try changed nothing. */
  notice?: ReactNode;
  children?: ReactNode;
  run: () => Promise<T>;
  /** What to say when it is done; null keeps the dialog open, because `onDone` shows something in it. */
  done: (result: T) => string | null;
  onDone?: (result: T) => void;
}

/** Asks before something changes, shows that it runs, and says what came of it. Every list is read again afterwards. */
export function ActionDialog<T>(props: ActionDialogProps<T>) {
  const {
    opened,
    onClose,
    title,
    about,
    act,
    dismiss = 'Cancel',
    danger = false,
    disabled = false,
    size = 'md',
    notice = null,
    children,
    run,
    done,
    onDone,
  } = props;
  const queryClient = useQueryClient();
  const action = useMutation({
    mutationFn: run,
    onSuccess: (result) => {
      const doneMessage = done(result);
      onDone?.(result);
      if (doneMessage !== null) {
        notifications.show({ message: doneMessage, color: 'teal' });
        onClose();
      }
      return queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'playground-key' });
    },
  });
  const close = (): void => {
    if (action.isPending) return;
    action.reset();
    onClose();
  };
  return (
    <Dialog opened={opened} onClose={close} title={title} size={size}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          action.mutate();
        }}
      >
        <Stack>
          <Text component="div" size="sm">
            {about}
          </Text>
          {notice}
          {children}
          {action.isError && !isConflict(action.error) && <ErrorAlert error={action.error} />}
          <DialogActions>
            <Button variant="default" onClick={close} disabled={action.isPending}>
              {dismiss}
            </Button>
            <Button type="submit" {...(danger && { color: 'red.9' })} loading={action.isPending} disabled={disabled}>
              {act}
            </Button>
          </DialogActions>
        </Stack>
      </form>
    </Dialog>
  );
}
