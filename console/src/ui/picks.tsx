import { Combobox, Text, TextInput, useCombobox } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { read } from '../api/admin.ts';

interface PickProps {
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}

interface Pick {
  id: string;
  name: string;
}

interface PickFilterProps extends PickProps {
  label: string;
  placeholder: string;
  /** What is offered: what has a text in its id or its name, or the first of all. */
  find: (of: { q?: string }) => Promise<Pick[]>;
  /** Tells the offers of one thing from those of another. */
  within?: string | undefined;
}

/**
 * Shows only the rows of one thing, which is picked by its name or typed as its id. What is typed counts when Enter is pressed. What is offered is
 * read while the field is used.
 */
function PickFilter({ label, value, onChange, placeholder, find, within }: PickFilterProps) {
  const [text, setText] = useState(value ?? '');
  useEffect(() => setText(value ?? ''), [value]);
  const combobox = useCombobox({ onDropdownClose: () => combobox.resetSelectedOption() });
  const settle = (typed: string): void => {
    const wanted = typed.trim() || undefined;
    if (wanted !== value) onChange(wanted);
  };
  const [q] = useDebouncedValue(text === value ? '' : text.trim(), 200);
  const { data: picks = [] } = useQuery({
    queryKey: ['picks', 'newest', label, within, q],
    queryFn: () => find(q === '' ? {} : { q }),
    enabled: combobox.dropdownOpened,
    placeholderData: keepPreviousData,
    staleTime: 10_000,
  });
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
      <Combobox.Dropdown hidden={picks.length === 0}>
        <Combobox.Options mah={280} style={{ overflowY: 'auto' }} aria-label={label}>
          {picks.map(({ id, name }) => (
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

type FilterProps = PickProps & { project?: string | undefined };

export const ProjectFilter = (props: FilterProps) => (
  <PickFilter
    label="Project"
    placeholder="prj_…"
    find={async (q) =>
      (await read('/projects', { limit, ...q })).data.map(({ project_id: id, name }) => ({ id, name }))
    }
    {...props}
  />
);

/** The keys of a project, or of all. */
export const KeyFilter = ({ project, ...props }: FilterProps) => (
  <PickFilter
    label="Key"
    placeholder="key_…"
    within={project}
    find={async (q) =>
      (await read('/keys', { limit, ...q, ...(project && { project }) })).data.map(({ key_id: id, name, last4 }) => ({
        id,
        name: `${name || id} …${last4 ?? ''}`,
      }))
    }
    {...props}
  />
);

export const ModelFilter = (props: FilterProps) => (
  <PickFilter
    label="Model"
    placeholder="aurora-image-1"
    find={async (q) =>
      (await read('/models', { limit, ...q })).data.map(({ id, display_name: name }) => ({ id, name }))
    }
    {...props}
  />
);

/** Channels are few, so all of them are read. */
export const ChannelFilter = (props: FilterProps) => (
  <PickFilter
    label="Channel"
    placeholder="openai-main"
    find={async ({ q = '' }) =>
      (await read('/channels', {})).data
        .filter(({ name }) => name.toLowerCase().includes(q.toLowerCase()))
        .map(({ name }) => ({ id: name, name }))
    }
    {...props}
  />
);

/** The server finds them, so a list is short. */
const limit = 50;
