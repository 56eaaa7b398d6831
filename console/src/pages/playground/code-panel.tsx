import { Box, Button, CopyButton, Group, ScrollArea, Tabs, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Dialog } from '../../ui/dialog.tsx';
import { samples } from './code-samples.ts';

/** A button that shows the request as code, ready to be copied. */
export function CodeButton({ path, body }: { path: string; body: object }) {
  const [opened, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button variant="default" onClick={open}>
        Copy as code
      </Button>
      <Dialog opened={opened} onClose={close} title="The same request from your program" size="lg">
        <Text size="sm" c="dimmed" mb="sm">
          Put a key of yours into the environment variable TOLLGATE_KEY. The key of the playground is not shown.
        </Text>
        <Tabs defaultValue="curl" keepMounted={false}>
          <Tabs.List>
            {samples(path, body).map(({ name }) => (
              <Tabs.Tab key={name} value={name}>
                {name}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {samples(path, body).map(({ name, code }) => (
            <Tabs.Panel key={name} value={name} pt="sm">
              <ScrollArea
                type="auto"
                className="code-block"
                viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': `Code for ${name}` }}
              >
                <Box component="pre" m={0} p="sm" fz="sm">
                  {code}
                </Box>
              </ScrollArea>
              <Group justify="flex-end" mt="sm">
                <CopyButton value={code}>
                  {({ copied, copy }) => <Button onClick={copy}>{copied ? 'Copied' : `Copy ${name}`}</Button>}
                </CopyButton>
              </Group>
            </Tabs.Panel>
          ))}
        </Tabs>
      </Dialog>
    </>
  );
}
