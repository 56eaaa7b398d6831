import { Alert, Button, Group, Modal, Stack } from '@mantine/core';
import { Copyable } from './values.tsx';

/** Shows a secret that is not shown again. */
export function SecretDialog({
  title,
  secret,
  onClose,
}: {
  title: string;
  secret: string | null;
  onClose: () => void;
}) {
  return (
    <Modal opened={secret !== null} onClose={onClose} title={title} closeOnClickOutside={false}>
      <Stack>
        <Alert color="yellow">Copy it now and keep it safe. It is shown this once: only its digest is stored.</Alert>
        <Copyable text={secret ?? ''} label="Copy the secret" wrap />
        <Group justify="flex-end">
          <Button onClick={onClose}>I have copied it</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
