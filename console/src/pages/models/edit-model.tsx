import { Alert, Button, Group, JsonInput, List, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { change, read } from '../../api/admin.ts';
import type { CatalogCheck, CatalogEntry } from '../../api/admin-types.ts';
import { percent, usd, words } from '../../ui/format.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorAlert } from '../../ui/page.tsx';
import { checkModels, worstShare } from './margins.ts';

/** Changes the catalog entry of a model. What the change means is shown before anything happens. */
export function EditModel({ entry, onClose }: { entry: CatalogEntry; onClose: () => void }) {
  const queryClient = useQueryClient();
  const [text, setText] = useState(() => JSON.stringify(entry, null, 2));
  const check = useMutation({ mutationFn: async () => checkModels([JSON.parse(text)]) });
  const apply = useMutation({
    mutationFn: async () => {
      // A catalog is replaced as a whole, so the other models are sent along as they are now.
      const { data } = await read('/catalog', {});
      const models = data.map((other) => (other.id === entry.id ? (JSON.parse(text) as unknown) : other));
      return change('put', '/catalog', {}, { catalog: JSON.stringify({ models }) });
    },
    onSuccess: ({ changed }) => {
      notifications.show({
        message: changed.length > 0 ? `Changed ${entry.display_name}.` : 'Nothing changed.',
        color: 'teal',
      });
      onClose();
      return queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'playground-key' });
    },
  });
  const edit = (next: string): void => {
    setText(next);
    check.reset();
  };
  return (
    <Dialog opened onClose={onClose} title={`Edit ${entry.display_name}`} size="xl">
      <Stack>
        <Text size="sm" c="dimmed">
          The entry as it is in the catalog. CATALOG.md describes each member. A later catalog apply from a file
          replaces what you change here.
        </Text>
        <JsonInput
          label="Catalog entry"
          value={text}
          onChange={edit}
          formatOnBlur
          autosize
          minRows={10}
          maxRows={22}
          validationError="This is not JSON"
          spellCheck={false}
        />
        {check.error && <ErrorAlert error={check.error} />}
        {apply.error && <ErrorAlert error={apply.error} />}
        {check.data && <CheckResult of={check.data} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          {check.data ? (
            <Button onClick={() => apply.mutate()} loading={apply.isPending}>
              Apply
            </Button>
          ) : (
            <Button onClick={() => check.mutate()} loading={check.isPending}>
              Check
            </Button>
          )}
        </Group>
      </Stack>
    </Dialog>
  );
}

function CheckResult({ of: { data, warnings } }: { of: CatalogCheck }) {
  const [model] = data;
  const losses = model?.losses ?? [];
  const worst = worstShare(model?.margins);
  return (
    <Alert
      color={losses.length > 0 ? 'orange' : 'teal'}
      title={losses.length > 0 ? 'Valid, but it loses money' : 'The entry is valid'}
      role="status"
    >
      <List size="sm">
        {worst !== null && <List.Item>The smallest margin is {percent(worst)}.</List.Item>}
        {losses.map((loss) => (
          <List.Item key={JSON.stringify(loss)}>
            {words(loss.unit)} at {loss.family ?? 'any adapter'} costs {usd(loss.cost_micro_usd)} and is sold for{' '}
            {usd(loss.price_micro_usd)}.
          </List.Item>
        ))}
        {warnings.map((warning) => (
          <List.Item key={warning}>{warning}</List.Item>
        ))}
      </List>
    </Alert>
  );
}
