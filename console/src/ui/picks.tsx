import { Combobox, Text, TextInput, useCombobox } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
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
  const combobox = useCombobox({ onDropdownClose: () => combobox.resetSelectedOption() });
  const settle = (typed: string): void => {
    const wanted = typed.trim() || undefined;
    if (wanted !== value) onChange(wanted);
  };
  const typed = text.trim().toLowerCase();
  const shown = picks.filter(
    ({ id, name }) => text === value || id.toLowerCase().includes(typed) || name.toLowerCase().includes(typed),
  );
  return (
    <Combobox
      store={combobox}
      onOptionSubmit={(id) => {
        setText(id);
        settle(id);
        combobox.closeDropdown();
      }}
    >
      {/* A text field with suggestions: whatever is typed counts, so it is no box to choose from. */}
      <Combobox.Target withAriaAttributes={false}>
        <TextInput
          label={label}
          size="sm"
          w={{ base: 'calc(50% - 0.375rem)', xs: 200 }}
          placeholder={placeholder}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            combobox.openDropdown();
          }}
          onFocus={() => combobox.openDropdown()}
          onBlur={() => {
            combobox.closeDropdown();
            settle(text);
          }}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || combobox.getSelectedOptionIndex() !== -1) return;
            combobox.closeDropdown();
            settle(event.currentTarget.value);
          }}
        />
      </Combobox.Target>
      <Combobox.Dropdown hidden={shown.length === 0}>
        <Combobox.Options mah={280} style={{ overflowY: 'auto' }} aria-label={label}>
          {shown.slice(0, picksMax).map(({ id, name }) => (
            <Combobox.Option key={id} value={id}>
              {name || id}
              {name !== '' && name !== id && (
                <Text size="xs" c="dimmed" className="breakable">
                  {id}
                </Text>
              )}
            </Combobox.Option>
          ))}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  );
}

const picksMax = 50;

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
