import { Alert, Button, Stack } from '@mantine/core';
import { Dialog, DialogActions } from './dialog.tsx';
import { Copyable } from './values.tsx';

/** Shows a new secret, and says whether it can be shown again. */
export function SecretDialog({
  title,
  about,
  secret,
  onClose,
}: {
  title: string;
  about: string;
  secret: string | null;
  onClose: () => void;
}) {
  return (
    <Dialog opened={secret !== null} onClose={onClose} title={title} closeOnClickOutside={false}>
      <Stack>
        <Alert color="yellow">{about}</Alert>
        <Copyable text={secret ?? ''} label="Copy the secret" wrap />
        <DialogActions>
          <Button onClick={onClose}>I have copied it</Button>
        </DialogActions>
      </Stack>
    </Dialog>
  );
}
