import { Input, NumberInput, SegmentedControl, Select, Switch } from '@mantine/core';
import type { Field, Values } from './form-fields.ts';

interface FieldInputProps {
  field: Field;
  value: Values[string];
  error: string | undefined;
  onChange: (value: Values[string]) => void;
}

/** The input for one field of the catalog, by its type. */
export function FieldInput({ field, value, error, onChange }: FieldInputProps) {
  const { label, description, type, options = [] } = field;
  if (type === 'boolean')
    return (
      <Switch
        label={label}
        description={description}
        error={error}
        checked={value === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  if (type === 'number')
    return (
      <NumberInput
        label={label}
        description={description ?? rangeText(field)}
        error={error}
        value={typeof value === 'number' ? value : ''}
        onChange={(next) => onChange(typeof next === 'number' ? next : undefined)}
        {...(field.min !== undefined && { min: field.min })}
        {...(field.max !== undefined && { max: field.max })}
        {...(field.step !== undefined && { step: field.step })}
      />
    );
  const choices = options.map((option) => ({ value: String(option), label: String(option) }));
  const choose = (text: string | null): void => onChange(options.find((option) => String(option) === text));
  const isShort = choices.length <= 6 && choices.reduce((sum, choice) => sum + choice.label.length + 3, 0) <= 40;
  if (isShort && value !== undefined)
    return (
      <Input.Wrapper label={label} description={description} error={error} labelElement="div">
        <SegmentedControl fullWidth data={choices} value={String(value)} onChange={choose} aria-label={label} mt={4} />
      </Input.Wrapper>
    );
  return (
    <Select
      label={label}
      description={description}
      error={error}
      data={choices}
      value={value === undefined ? null : String(value)}
      onChange={choose}
      placeholder="The model decides"
      clearable={field.default === undefined}
      searchable={choices.length > 10}
    />
  );
}

function rangeText({ min, max }: Field): string | undefined {
  if (min === undefined || max === undefined) return undefined;
  return `From ${min} to ${max}`;
}
