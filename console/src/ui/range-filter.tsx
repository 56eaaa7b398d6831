import { Group, Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useZone, type Zone } from './clock.ts';

type Range = Partial<Record<'created_after' | 'created_before', string | undefined>>;

const presets = [
  { value: '', label: 'All time' },
  { value: '1h', label: 'Last hour' },
  { value: '24h', label: 'Last 24 hours' },
  { value: '7d', label: 'Last 7 days' },
  { value: '30d', label: 'Last 30 days' },
  { value: 'yesterday', label: 'Yesterday' },
  { value: 'custom', label: 'From … to …' },
];

/** Shows only the rows of a range of time: one that ends now, or any. The address keeps it as the admin API takes it. */
export function RangeFilter({ value, onChange }: { value: Range; onChange: (range: Range) => void }) {
  const { created_after: after, created_before: before } = value;
  const preset =
    before === undefined && presets.some(({ value: span }) => span === (after ?? '')) ? (after ?? '') : 'custom';
  const [isOpen, setOpen] = useState(preset === 'custom');
  const isCustom = isOpen || preset === 'custom';
  const zone = useZone();
  return (
    <Group gap="sm" align="flex-end" w={{ base: isCustom ? '100%' : 'calc(50% - 0.375rem)', xs: 'auto' }}>
      <Select
        label="Time"
        size="sm"
        w={{ base: '100%', xs: 160 }}
        data={presets}
        value={isCustom ? 'custom' : preset}
        allowDeselect={false}
        onChange={(next) => {
          setOpen(next === 'custom' || next === 'yesterday');
          if (next === 'yesterday') onChange(yesterday(zone));
          else if (next !== 'custom') onChange({ created_after: next || undefined, created_before: undefined });
        }}
      />
      {isCustom && (
        <>
          <Moment label="From" value={after} onChange={(at) => onChange({ ...value, created_after: at })} />
          <Moment label="To" value={before} onChange={(at) => onChange({ ...value, created_before: at })} />
        </>
      )}
    </Group>
  );
}

function Moment({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string | undefined;
  onChange: (at: string | undefined) => void;
}) {
  const zone = useZone();
  return (
    <TextInput
      type="datetime-local"
      label={`${label} (${zone === 'utc' ? 'UTC' : 'local'})`}
      size="sm"
      value={inputOf(value, zone)}
      onChange={(event) => onChange(addressOf(event.currentTarget.value, zone))}
    />
  );
}

/** From midnight to midnight, as two moments, because the address means the same tomorrow. */
function yesterday(zone: Zone): Range {
  const now = new Date();
  const midnight = (daysAgo: number): string => {
    const at =
      zone === 'utc'
        ? Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() - daysAgo)
        : new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysAgo).getTime();
    return `${new Date(at).toISOString().slice(0, 19)}Z`;
  };
  return { created_after: midnight(1), created_before: midnight(0) };
}

/** What the field of a browser shows for a time of the address. */
function inputOf(value: string | undefined, zone: Zone): string {
  const span = /^(\d+)([smhd])$/.exec(value ?? '');
  const ms = span
    ? Date.now() - Number(span[1]) * { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }[span[2] as 's']
    : Date.parse(value ?? '');
  if (Number.isNaN(ms)) return '';
  const shift = zone === 'utc' ? 0 : new Date(ms).getTimezoneOffset() * 60_000;
  return new Date(ms - shift).toISOString().slice(0, 16);
}

function addressOf(text: string, zone: Zone): string | undefined {
  if (text === '') return undefined;
  const at = new Date(zone === 'utc' ? `${text}Z` : text);
  return Number.isNaN(at.getTime()) ? undefined : `${at.toISOString().slice(0, 19)}Z`;
}
