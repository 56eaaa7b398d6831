import { Checkbox, Group, NumberInput, SimpleGrid, TagsInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, queryOptions, useQueries, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { isModelGlob } from '../../../../src/domain/catalog/model-names.ts';
import { change, read } from '../../api/admin.ts';
import type { Key } from '../../api/admin-types.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';
import { TextField } from '../../ui/fields.tsx';
import { scopeLabels } from '../../ui/scope-labels.ts';
import { useEdits } from '../../ui/use-edits.tsx';
import type { ReadyKey } from './key-ready.tsx';

interface KeyDialogProps {
  projectId: string;
  /** The key to change; null makes a new one. */
  existing: Key | null;
  onClose: () => void;
  onReady: (key: ReadyKey) => void;
}

const limits = [
  { name: 'rpm', label: 'Requests per minute' },
  { name: 'in_flight', label: 'Requests at the same time' },
  { name: 'budget_daily', label: 'Credits per day (UTC)' },
  { name: 'budget_monthly', label: 'Credits per month (UTC)' },
  { name: 'budget', label: 'Credits in all' },
] as const;
type Limit = (typeof limits)[number]['name'];

const scopes = Object.entries(scopeLabels).map(([value, label]) => ({ value, label }));

/** Makes a key, or changes the limits of one. */
export function KeyDialog({ projectId, existing, onClose, onReady }: KeyDialogProps) {
  const form = useEdits(
    { path: '/keys/{id}', inputs: { id: existing?.key_id ?? '' }, subject: existing?.key_id ?? null },
    existing,
    fieldsOf,
  );
  const { name, scopes: chosen, models, expires, ...values } = form.fields;
  const [typed, setTyped] = useState('');
  const { names, unknown } = useModelNames(typed, models, existing?.models ?? []);
  const body = bodyOf(existing ? form.changes : form.fields);
  return (
    <ActionDialog
      opened
      onClose={onClose}
      size="lg"
      {...(existing ? texts.change : texts.create)}
      disabled={chosen.length === 0 || unknown.length > 0 || (existing !== null && form.isUnchanged)}
      notice={form.notice}
      run={async () =>
        existing
          ? await form.save((version) => change('patch', '/keys/{id}', { id: existing.key_id }, body, version))
          : await change('post', '/keys', {}, { project: projectId, ...body })
      }
      onDone={(made) => 'api_key' in made && onReady({ keyId: made.key_id, secret: made.api_key, scopes: chosen })}
    >
      <TextField label="Name" value={name} onChange={(text) => form.edit({ name: text })} data-autofocus />
      <Checkbox.Group label="What the key may use" value={chosen} onChange={(next) => form.edit({ scopes: next })}>
        <Group mt="xs">
          {scopes.map((scope) => (
            <Checkbox key={scope.value} {...scope} />
          ))}
        </Group>
      </Checkbox.Group>
      <TagsInput
        label="Models"
        description="Leave empty to allow all. A pattern such as gpt-* also allows future models"
        placeholder={models.length === 0 ? 'All models' : ''}
        data={names}
        value={models}
        onChange={(next) => form.edit({ models: next })}
        searchValue={typed}
        onSearchChange={setTyped}
        error={unknown.length > 0 && `The catalog has no model ${unknown.join(', ')}`}
        maxDropdownHeight={220}
        splitChars={[',', ' ']}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }} className="fields">
        {limits.map(({ name: limit, label }) => (
          <NumberInput
            key={limit}
            label={label}
            placeholder="No limit"
            value={values[limit]}
            onChange={(value) => form.edit({ [limit]: value })}
            min={0}
            allowDecimal={false}
            thousandSeparator=","
          />
        ))}
        <TextField
          label="Expires"
          placeholder={existing?.expires_at ? 'As before' : 'Never'}
          description="Such as 30d or 2030-01-31"
          value={expires}
          onChange={(text) => form.edit({ expires: text })}
        />
      </SimpleGrid>
    </ActionDialog>
  );
}

/** The names of models that have what is typed in them, and those of the chosen ones that the catalog lacks. The earlier ones are not checked again. */
function useModelNames(typed: string, chosen: readonly string[], earlier: readonly string[]) {
  const [query] = useDebouncedValue(typed.trim(), 200);
  const { data: names } = useQuery({ ...modelNamesQuery(query), placeholderData: keepPreviousData });
  const checked = chosen.filter((item) => !isModelGlob(item) && !earlier.includes(item));
  const found = useQueries({ queries: checked.map(modelNamesQuery) });
  return { names: names ?? [], unknown: checked.filter((item, index) => found[index]?.data?.includes(item) === false) };
}

const modelNamesQuery = (q: string) =>
  queryOptions({
    queryKey: ['/models', 'names', q],
    queryFn: async () =>
      (await read('/models', { limit: 20, ...(q !== '' && { q }) })).data.flatMap((model) => model.names),
  });

const texts = {
  create: {
    title: 'New key',
    about: 'Its secret is shown once. An empty limit means no limit.',
    act: 'Create',
    done: () => 'The key is created.',
  },
  change: {
    title: 'Change the limits of this key',
    about: 'The change takes effect within a second.',
    act: 'Save',
    done: () => 'The key is changed.',
  },
};

type Fields = Record<Limit, number | string> & {
  name: string;
  scopes: Key['scopes'];
  models: string[];
  /** Empty: as it is. */
  expires: string;
};

const fieldsOf = (key: Key | null): Fields => ({
  name: key?.name ?? '',
  scopes: key?.scopes ?? ['chat', 'media', 'read'],
  models: key?.models ?? [],
  expires: '',
  rpm: key?.rpm ?? '',
  in_flight: key?.in_flight_max ?? '',
  budget_daily: key?.budget_daily ?? '',
  budget_monthly: key?.budget_monthly ?? '',
  budget: key?.budget ?? '',
});

/** Fields as the admin API takes them: an empty limit is none, and an empty list of models allows all. */
const bodyOf = ({ name = '', expires = '', models, ...others }: Partial<Fields>) => ({
  ...Object.fromEntries(Object.entries(others).map(([field, value]) => [field, value === '' ? null : value])),
  ...(name.trim() !== '' && { name: name.trim() }),
  ...(expires.trim() !== '' && { expires: expires.trim() }),
  ...(models && { models: models.length === 0 ? null : models }),
});
