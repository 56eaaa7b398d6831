import { Card, List, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { read } from '../../api/admin.ts';
import { channelsQuery } from '../../api/queries.ts';
import { PageLink } from '../../ui/links.tsx';

/** What a new installation still lacks, until it has a provider, a project and a key. */
export function FirstSteps() {
  const channels = useQuery(channelsQuery);
  const projects = useQuery({ queryKey: ['projects', 'any'], queryFn: () => read('/projects', { limit: 1 }) });
  const keys = useQuery({ queryKey: ['keys', 'any'], queryFn: () => read('/keys', { limit: 1, state: 'active' }) });
  if (!channels.data || !projects.data || !keys.data) return null;
  const projectId = projects.data.data[0]?.project_id;
  const allProjects = (
    <PageLink to="/projects" fz="inherit">
      Projects and keys
    </PageLink>
  );
  const steps = [
    {
      done: channels.data.data.length > 0,
      label: 'Add a provider',
      to: (
        <PageLink to="/channels" fz="inherit">
          Channels
        </PageLink>
      ),
    },
    {
      done: projectId !== undefined,
      label: 'Create a project',
      to: allProjects,
    },
    {
      done: keys.data.data.length > 0,
      label: 'Make a key',
      to:
        projectId === undefined ? (
          allProjects
        ) : (
          <PageLink to="/projects/$projectId" params={{ projectId }} fz="inherit">
            its project
          </PageLink>
        ),
    },
  ];
  if (steps.every(({ done }) => done)) return null;
  return (
    <Card withBorder component="section" aria-labelledby="first-steps">
      <Title order={2} size="h4" id="first-steps" mb="sm">
        First steps
      </Title>
      <List type="ordered" size="sm" spacing={4}>
        {steps.map(({ done, label, to }) => (
          <List.Item key={label}>
            {label}: {done ? <Text span>done</Text> : <>open {to}</>}
          </List.Item>
        ))}
      </List>
    </Card>
  );
}
