import { NumberInput, PasswordInput, Select, SimpleGrid, Stack, Switch, TagsInput } from '@mantine/core';
import { listedProviders } from '../../../src/domain/channels/listed-providers.ts';
import { TextField } from '../ui/fields.tsx';

/** What a person writes of a channel. */
export interface ProviderSettings {
  name: string;
  adapter: string;
  base_url: string;
  /** Empty: as it is. */
  credential: string;
  groups: string[];
  priority: number | string;
  weight: number | string;
  list_check: boolean;
}

interface ProviderFieldsProps {
  value: ProviderSettings;
  onChange: (changes: Partial<ProviderSettings>) => void;
  /** The groups of the catalog. */
  groups: readonly string[];
  /** Only an owner decides to whom a credential is sent. */
  mayMove: boolean;
  /** What an empty key means; absent if one is needed. */
  keptKey?: string;
}

export const families = [...new Set(listedProviders.map(({ family }) => family))].sort();

/** The fields of a channel, for a new one and for a change. */
export function ProviderFields({ value, onChange, groups, mayMove, keptKey }: ProviderFieldsProps) {
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, xs: 2 }} className="fields">
        <TextField
          label="Name"
          description="For operators. Clients never see it"
          value={value.name}
          onChange={(name) => onChange({ name })}
          required
        />
        <Select
          label="Family"
          description="The API that the provider speaks"
          data={families}
          value={value.adapter}
          onChange={(adapter) => onChange({ adapter: adapter ?? '' })}
          allowDeselect={false}
          disabled={!mayMove}
          searchable
        />
      </SimpleGrid>
      <TextField
        label="Base URL"
        description="The paths of the API are appended to it"
        placeholder="https://api.example.com/v1"
        value={value.base_url}
        onChange={(url) => onChange({ base_url: url })}
        disabled={!mayMove}
        required
      />
      {mayMove && (
        <PasswordInput
          label="API key"
          description={keptKey ?? 'It is stored encrypted and not shown again'}
          value={value.credential}
          onChange={({ currentTarget }) => onChange({ credential: currentTarget.value })}
          autoComplete="off"
          visibilityToggleButtonProps={{ 'aria-label': 'Show the key' }}
          required={keptKey === undefined}
        />
      )}
      <TagsInput
        label="Groups"
        description="It serves the models of the catalog in these groups"
        data={[...groups]}
        value={value.groups}
        onChange={(chosen) => onChange({ groups: chosen })}
        required
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }} className="fields">
        <NumberInput
          label="Priority"
          description="Lower numbers are tried first"
          value={value.priority}
          onChange={(priority) => onChange({ priority })}
          min={0}
          max={10_000}
          allowDecimal={false}
        />
        <NumberInput
          label="Weight"
          description="0 takes it out of use"
          value={value.weight}
          onChange={(weight) => onChange({ weight })}
          min={0}
          max={10_000}
          allowDecimal={false}
        />
      </SimpleGrid>
      <Switch
        label="Leave out models that the provider does not list"
        checked={value.list_check}
        onChange={({ currentTarget }) => onChange({ list_check: currentTarget.checked })}
      />
    </Stack>
  );
}
