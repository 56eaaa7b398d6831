import { useQuery } from '@tanstack/react-query';
import { read } from './admin.ts';

/** The name of a project, or its id where it has none or is not read yet. */
export function useProjectName(projectId = ''): string {
  const { data } = useQuery({
    queryKey: ['project-name', 'newest', projectId],
    queryFn: () => read('/projects/{id}', { id: projectId }),
    enabled: projectId !== '',
    staleTime: 60_000,
  });
  return data?.name || projectId;
}
