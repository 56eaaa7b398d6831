import { Box, Button, CopyButton, Group, ScrollArea, Tabs } from '@mantine/core';

/** The same in several languages, each ready to be copied. */
export function CodeTabs({ samples }: { samples: readonly { name: string; code: string }[] }) {
  return (
    <Tabs defaultValue={samples[0]?.name ?? null} keepMounted={false}>
      <Tabs.List>
        {samples.map(({ name }) => (
          <Tabs.Tab key={name} value={name} px="sm">
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {samples.map(({ name, code }) => (
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
              {({ copied, copy }) => (
                <Button variant="default" onClick={copy}>
                  {copied ? 'Copied' : `Copy ${name}`}
                </Button>
              )}
            </CopyButton>
          </Group>
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
