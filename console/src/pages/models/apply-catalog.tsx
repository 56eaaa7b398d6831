import { Alert, Button, FileInput, List, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { change } from '../../api/admin.ts';
import type { AppliedCatalog } from '../../api/admin-types.ts';
import { Differences } from '../../ui/differences.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { number } from '../../ui/format.ts';
import { ErrorAlert } from '../../ui/page.tsx';

/** Applies the files of a catalog, once the person has seen what they change. */
export function ApplyCatalog({ onClose }: { onClose: () => void }) {
  const queryClient = useQueryClient();
  const [files, setFiles] = useState<File[]>([]);
  const compare = useMutation({
    mutationFn: async () => {
      const catalog = await Promise.all(files.map(async (file) => ({ file: file.name, text: await file.text() })));
      return { catalog, preview: await change('put', '/catalog', {}, { catalog, dry_run: true }) };
    },
  });
  const apply = useMutation({
    mutationFn: ({ catalog, preview }: NonNullable<typeof compare.data>) =>
      change('put', '/catalog', {}, { catalog, version: preview.version ?? '' }),
    onSuccess: ({ added, changed, removed }) => {
      const message = `${added.length} models added, ${changed.length} changed, ${removed.length} removed.`;
      notifications.show({ message, color: 'teal' });
      onClose();
      return queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'playground-key' });
    },
  });
  const compared = compare.data;
  return (
    <Dialog opened onClose={onClose} title="Apply a catalog" size="xl">
      <Stack>
        <Text size="sm">
          The files replace the whole catalog: a model that they lack is removed. See first what they change.
        </Text>
        <FileInput
          label="Files"
          description="One YAML file, or all files of a folder"
          placeholder="Choose files"
          accept=".yaml,.yml,.json"
          multiple
          value={files}
          onChange={(chosen) => {
            setFiles(chosen);
            compare.reset();
            apply.reset();
          }}
        />
        {compare.error && <ErrorAlert error={compare.error} />}
        {compared && <Preview of={compared.preview} />}
        {apply.error && <ErrorAlert error={apply.error} />}
        <DialogActions>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          {compared && !apply.error ? (
            <Button onClick={() => apply.mutate(compared)} loading={apply.isPending}>
              Apply
            </Button>
          ) : (
            <Button
              onClick={() => {
                apply.reset();
                compare.mutate();
              }}
              loading={compare.isPending}
              disabled={files.length === 0}
            >
              Compare
            </Button>
          )}
        </DialogActions>
      </Stack>
    </Dialog>
  );
}

function Preview({
  of: { added, changed, removed, differences = [], members_omitted: omitted = 0, warnings },
}: {
  of: AppliedCatalog;
}) {
  if (differences.length === 0) return <Text size="sm">Nothing would change.</Text>;
  const listed = [
    ['Added', added],
    ['Changed', changed],
    ['Removed', removed],
  ] as const;
  return (
    <Stack gap="xs" role="status">
      <List size="sm">
        {listed.map(([word, ids]) => (
          <List.Item key={word} className="breakable">
            {word}: {ids.length === 0 ? 'none' : ids.join(', ')}
          </List.Item>
        ))}
      </List>
      <Differences
        of={differences.map(({ member, before, after }) => ({
          path: member,
          before: before as never,
          after: after as never,
        }))}
        label="What the files change"
      />
      {warnings.length > 0 && (
        <Alert color="orange" title="Allowed, but it may be a mistake">
          <List size="sm">
            {warnings.map((warning) => (
              <List.Item key={warning}>{warning}</List.Item>
            ))}
          </List>
        </Alert>
      )}
      {omitted > 0 && <Text size="sm">{number(omitted)} further members differ.</Text>}
    </Stack>
  );
}
