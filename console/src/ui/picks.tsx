import { Autocomplete, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { channelsQuery, newestProjectsQuery } from '../api/queries.ts';
import { sendJson } from '../api/request.ts';
import { addressOf } from '../api/admin.ts';
import type { Channel, Key } from '../api/admin-types.ts';

interface PickProps {
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}

interface Pick {
  id: string;
  name: string;
}

/** Shows only the rows of one thing, which is picked by its name or typed as its id. What is typed counts when Enter is pressed. */
function PickFilter({
  label,
  value,
  onChange,
  picks,
  placeholder,
}: PickProps & { label: string; picks: readonly Pick[]; placeholder: string }) {
  const [text, setText] = useState(value ?? '');
  useEffect(() => setText(value ?? ''), [value]);
  const names = useMemo(() => new Map(picks.map(({ id, name }) => [id, name])), [picks]);
  const settle = (typed: string): void => {
    const wanted = typed.trim() || undefined;
    if (wanted !== value) onChange(wanted);
  };
  return (
    <Autocomplete
      label={label}
      size="sm"
      w={{ base: '100%', xs: 200 }}
      placeholder={placeholder}
      data={picks.map(({ id }) => id)}
      limit={50}
      value={text}
      onChange={setText}
      onOptionSubmit={settle}
      onBlur={() => settle(text)}
      onKeyDown={(event) => event.key === 'Enter' && settle(event.currentTarget.value)}
      clearable
      clearButtonProps={{ 'aria-label': `Show all: ${label}`, onMouseDown: () => onChange(undefined) }}
      filter={({ options, search }) => {
        const wanted = search.trim().toLowerCase();
        return options.filter((option) => {
          const id = 'value' in option ? String(option.value) : '';
          return id.toLowerCase().includes(wanted) || (names.get(id) ?? '').toLowerCase().includes(wanted);
        });
      }}
      renderOption={({ option }) => (
        <span>
          {names.get(option.value) || option.value}
          {names.get(option.value) && names.get(option.value) !== option.value && (
            <Text size="xs" c="dimmed" className="breakable">
              {option.value}
            </Text>
          )}
        </span>
      )}
    />
  );
}

export function ProjectFilter(props: PickProps) {
  const { data } = useQuery(newestProjectsQuery);
  const picks = (data?.data ?? []).map(({ project_id: id, name }) => ({ id, name }));
  return <PickFilter label="Project" placeholder="prj_…" picks={picks} {...props} />;
}

/** The keys of a project, or the newest of all. */
export function KeyFilter({ project, ...props }: PickProps & { project?: string | undefined }) {
  const { data } = useQuery({
    queryKey: ['/keys', 'newest', project],
    queryFn: () => sendJson<{ data: Key[] }>(addressOf('/keys', { project, limit: 500 })),
  });
  const picks = (data?.data ?? []).map(({ key_id: id, name, last4 }) => ({
    id,
    name: `${name || id} …${last4 ?? ''}`,
  }));
  return <PickFilter label="Key" placeholder="key_…" picks={picks} {...props} />;
}

export function ModelFilter(props: PickProps) {
  const { data } = useQuery(catalogNamesQuery);
  return <PickFilter label="Model" placeholder="aurora-image-1" picks={data ?? []} {...props} />;
}

const catalogNamesQuery = {
  queryKey: ['catalog-names', 'newest'],
  queryFn: async (): Promise<Pick[]> => {
    const { data } = await sendJson<{ data: { id: string; display_name: string }[] }>(addressOf('/catalog', {}));
    return data.map(({ id, display_name: name }) => ({ id, name }));
  },
  staleTime: 60_000,
};

export function ChannelFilter(props: PickProps) {
  const { data } = useQuery(channelsQuery);
  const picks = (data?.data ?? []).map(({ name }: Channel) => ({ id: name, name }));
  return <PickFilter label="Channel" placeholder="openai-main" picks={picks} {...props} />;
}
