import { Button, Text, type MantineSize } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { CodeTabs } from '../../ui/code-tabs.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { samples } from './code-samples.ts';

/** A button that shows the request as code, ready to be copied. */
export function CodeButton({
  path,
  body,
  of,
  size,
}: {
  path: string;
  body: object;
  /** Whose request it is, where a page has several. */
  of?: string;
  size?: MantineSize | 'compact-sm';
}) {
  const [opened, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button variant="default" onClick={open} {...(size && { size })}>
        {of === undefined ? 'Copy as code' : `Copy as code: ${of}`}
      </Button>
      <Dialog opened={opened} onClose={close} title="The same request from your program" size="lg">
        <Text size="sm" c="dimmed" mb="sm">
          Put a key of yours into the environment variable TOLLGATE_KEY. The key of the playground is not shown.
        </Text>
        <CodeTabs samples={samples(path, body)} />
      </Dialog>
    </>
  );
}
