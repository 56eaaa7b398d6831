import { Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { read } from '../../api/admin.ts';
import type { Project } from '../../api/admin-types.ts';
import { number } from '../../ui/format.ts';

/** The projects with the most credits, of those that have a text in their name or id. */
export const richestQuery = (q: string) =>
  queryOptions({
    queryKey: ['projects', 'active', q],
    queryFn: () => read('/projects', { status: 'active', sort: '-balance', limit: 20, ...(q !== '' && { q }) }),
  });

/** The wanted project too, if it is not among the projects. Null while it is read, so that no other one is used meanwhile. */
export function useWithWanted(projects: Project[], wanted: string | undefined): Project[] | undefined {
  const isListed = wanted === undefined || projects.some(({ project_id: id }) => id === wanted);
  const found = useQuery({
    queryKey: ['projects', 'wanted', wanted],
    queryFn: () => read('/projects/{id}', { id: wanted ?? '' }),
    enabled: !isListed,
    retry: false,
  });
  if (isListed || found.error !== null) return projects;
  return found.data && [...(found.data.status === 'active' ? [found.data] : []), ...projects];
}

/** The projects that the server finds by what is typed. */
export function PayingProject({
  projects = [],
  chosen,
  choose,
}: {
  projects: Project[] | undefined;
  chosen: Project | undefined;
  choose: (id: string) => void;
}) {
  const [typed, setTyped] = useState('');
  // The field shows what is chosen until something else is typed.
  const isTyped = chosen === undefined || !typed.startsWith(`${nameOf(chosen)} (`);
  const [q] = useDebouncedValue(isTyped ? typed.trim() : '', 200);
  const found = useQuery({ ...richestQuery(q), placeholderData: keepPreviousData, enabled: q !== '' });
  const offered = q === '' ? projects : (found.data?.data ?? []);
  const data =
    chosen && !offered.some(({ project_id: id }) => id === chosen.project_id) ? [chosen, ...offered] : offered;
  return (
    <Select
      label="Project that pays"
      data={data.map((project) => ({ value: project.project_id, label: labelOf(project) }))}
      value={chosen?.project_id ?? null}
      onChange={(id) => id !== null && choose(id)}
      allowDeselect={false}
      searchable={projects.length > 8}
      searchValue={typed}
      onSearchChange={setTyped}
      // The server has filtered them.
      filter={({ options }) => options}
    />
  );
}

const nameOf = ({ project_id: id, name }: Project): string => name || id;
/** Without the money, for which a phone has no room. */
const labelOf = (project: Project): string => `${nameOf(project)} (${number(project.balance)} credits)`;
