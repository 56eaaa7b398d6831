import { Select, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';
import { words } from './format.ts';

interface FilterProps {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}

/** Shows only the rows with one of some values. */
export function ChoiceFilter({
  label,
  value,
  onChange,
  options,
}: FilterProps & { options: readonly (string | { value: string; label: string })[] }) {
  return (
    <Select
      label={label}
      placeholder="All"
      size="sm"
      w={{ base: 'calc(50% - 0.375rem)', xs: 180 }}
      data={options.map((option) => (typeof option === 'string' ? { value: option, label: words(option) } : option))}
      value={value ?? null}
      onChange={(next) => onChange(next ?? undefined)}
      clearable
      clearButtonProps={{ 'aria-label': `Show all: ${label}` }}
      searchable={options.length > 10}
    />
  );
}

/** Shows only the rows with this text, which counts when the field is left or Enter is pressed. */
export function TextFilter({ label, value, onChange, placeholder }: FilterProps & { placeholder?: string }) {
  const [text, setText] = useState(value ?? '');
  useEffect(() => setText(value ?? ''), [value]);
  const settle = (): void => onChange(text.trim() || undefined);
  return (
    <TextInput
      label={label}
      size="sm"
      w={{ base: 'calc(50% - 0.375rem)', xs: 200 }}
      placeholder={placeholder}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={settle}
      onKeyDown={(event) => event.key === 'Enter' && settle()}
    />
  );
}
