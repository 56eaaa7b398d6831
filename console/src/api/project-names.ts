import { useQuery } from '@tanstack/react-query';
import { newestProjectsQuery } from './queries.ts';

/** The name of a project by its id, or the id where the project has no name or is not among the newest thousand. */
export function useProjectNames(): (projectId: string) => string {
  const { data } = useQuery(newestProjectsQuery);
  const names = new Map(data?.data.map(({ project_id: id, name }) => [id, name]));
  return (projectId) => names.get(projectId) || projectId;
}
