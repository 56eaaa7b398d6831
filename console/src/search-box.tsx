import { Popover, Stack, Text, TextInput, UnstyledButton } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { read } from './api/admin.ts';
import type { SearchHit } from './api/admin-types.ts';
import { words } from './ui/format.ts';
import { Announced } from './ui/page.tsx';

/**
 * Finds anything by its id, a part of its name or characters of a key. Enter opens the only hit, or the list of several. `/` and Ctrl-K move
 * the focus here.
 */
export function SearchBox() {
  const field = useRef<HTMLInputElement>(null);
  const router = useRouter();
  const [text, setText] = useState('');
  const focus = (): void => field.current?.select();
  useHotkeys([['/', focus]]);
  // Also from a field of the page.
  useHotkeys([['mod+K', focus]], []);
  const search = useMutation({
    mutationFn: async (q: string) => (await read('/search', { q })).data,
    onSuccess: ([hit, ...others]) => hit && others.length === 0 && open(hit),
  });
  const open = (hit: SearchHit): void => {
    search.reset();
    setText('');
    field.current?.blur();
    router.history.push(hit.url);
  };
  const { data: hits, error } = search;
  const isListed = error !== null || (hits !== undefined && hits.length !== 1);
  return (
    <Popover
      opened={isListed}
      onChange={() => search.reset()}
      position="bottom-start"
      width={360}
      shadow="md"
      withRoles={false}
    >
      <Popover.Target>
        <TextInput
          ref={field}
          type="search"
          aria-label="Search"
          placeholder="Search: id, name, key"
          size="sm"
          className="search-box"
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            search.reset();
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && text.trim() !== '') search.mutate(text.trim());
            if (event.key === 'Escape') search.reset();
          }}
        />
      </Popover.Target>
      <Popover.Dropdown p="xs" role="region" aria-label="Found">
        {hits !== undefined && hits.length > 0 && <Announced>{`${hits.length} found`}</Announced>}
        {error !== null ? (
          <Text size="sm" role="alert">
            {error.message}
          </Text>
        ) : hits?.length === 0 ? (
          <Text size="sm" role="status">
            Nothing matches.
          </Text>
        ) : (
          <Stack gap={2}>
            {hits?.map((hit) => (
              <Hit key={`${hit.type} ${hit.id}`} hit={hit} open={() => open(hit)} />
            ))}
          </Stack>
        )}
      </Popover.Dropdown>
    </Popover>
  );
}

function Hit({ hit, open }: { hit: SearchHit; open: () => void }) {
  return (
    <UnstyledButton
      component="a"
      href={hit.url}
      className="search-hit"
      onClick={(event) => {
        // A new tab is for the browser.
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        open();
      }}
    >
      <Text size="xs" c="dimmed">
        {words(hit.type)}
      </Text>
      <Text size="sm" className="breakable">
        {hit.name || hit.id}
      </Text>
      {hit.name && hit.name !== hit.id && (
        <Text size="xs" c="dimmed" className="breakable">
          {hit.id}
        </Text>
      )}
    </UnstyledButton>
  );
}
