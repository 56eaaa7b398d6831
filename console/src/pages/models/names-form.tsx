import { Switch, SimpleGrid, Stack, TagsInput, Textarea } from '@mantine/core';
import type { CatalogEntry } from '../../api/admin-types.ts';
import { TextField } from '../../ui/fields.tsx';

interface NamesFormProps {
  entry: CatalogEntry;
  onChange: (entry: CatalogEntry) => void;
}

/** How a model is called, and whether clients see it. */
export function NamesForm({ entry, onChange }: NamesFormProps) {
  const { aliases } = entry.private;
  return (
    <Stack gap="xs">
      <Switch
        label="Visible to clients"
        description="A hidden model is in no list, and requests for it are refused"
        checked={entry.private.public}
        onChange={({ currentTarget: { checked } }) => onChange(withPrivate(entry, { public: checked }))}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }} className="fields">
        <TextField
          label="Display name"
          value={entry.display_name}
          onChange={(name) => onChange({ ...entry, display_name: name })}
        />
        <TextField label="Vendor" value={entry.owned_by} onChange={(name) => onChange({ ...entry, owned_by: name })} />
      </SimpleGrid>
      <TagsInput
        label="Aliases"
        description={
          entry.type === 'chat'
            ? 'Further names by which clients may ask for it. Enter ends each'
            : 'Further names, for the routes of other vendors’ SDKs. Enter ends each; what one presets is under Advanced'
        }
        value={Object.keys(aliases)}
        onChange={(names) =>
          onChange(
            withPrivate(entry, { aliases: Object.fromEntries(names.map((name) => [name, aliases[name] ?? {}])) }),
          )
        }
        clearable={false}
      />
      <Textarea
        label="Description"
        value={entry.description ?? ''}
        onChange={({ currentTarget: { value } }) => onChange({ ...entry, description: value === '' ? null : value })}
        autosize
        minRows={1}
        maxRows={5}
      />
    </Stack>
  );
}

const withPrivate = (entry: CatalogEntry, members: Partial<CatalogEntry['private']>): CatalogEntry => ({
  ...entry,
  private: { ...entry.private, ...members },
});
