import { Anchor, Button, Text } from '@mantine/core';
import { createLink, linkOptions } from '@tanstack/react-router';
import type { ComponentProps, ReactNode } from 'react';
import { useKeyName } from '../api/key-name.ts';

/** Links to pages of the console. Their addresses and parameters are checked by the compiler. */
export const PageLink = createLink((props: ComponentProps<typeof Anchor<'a'>>) => <Anchor<'a'> {...props} />);
export const PageButton = createLink((props: ComponentProps<typeof Button<'a'>>) => (
  <Button<'a'> component="a" {...props} />
));

/** The page of each kind of thing, by its id. That of a channel also takes its name. */
const pages = {
  project: (projectId: string) => linkOptions({ to: '/projects/$projectId', params: { projectId } }),
  key: (keyId: string) => linkOptions({ to: '/keys/$keyId', params: { keyId } }),
  model: (modelId: string) => linkOptions({ to: '/models/$modelId', params: { modelId } }),
  channel: (channelId: string) => linkOptions({ to: '/channels/$channelId', params: { channelId } }),
  plan: (planName: string) => linkOptions({ to: '/plans/$planName', params: { planName } }),
  task: (taskId: string) => linkOptions({ to: '/tasks/$taskId', params: { taskId } }),
  request: (requestId: string) => linkOptions({ to: '/requests/$requestId', params: { requestId } }),
  deliveries: (task: string) => linkOptions({ to: '/deliveries', search: { task } }),
  access: () => linkOptions({ to: '/access' }),
  silence: () => linkOptions({ to: '/overview' }),
  scheduledRun: () => linkOptions({ to: '/jobs' }),
};
export type Kind = keyof typeof pages;

const kindsByPrefix: Readonly<Record<string, Kind>> = {
  prj: 'project',
  key: 'key',
  chn: 'channel',
  pln: 'plan',
  task: 'task',
  req: 'request',
  atk: 'access',
  opr: 'access',
  sil: 'silence',
  run: 'scheduledRun',
};

/** The kind of thing that has this id; null for what has no page. */
export const kindOf = (id: string): Kind | null => kindsByPrefix[id.slice(0, Math.max(0, id.indexOf('_')))] ?? null;

interface ResourceLinkProps {
  of: Kind | null;
  /** Null or empty: there is nothing to link to. */
  id: string | null;
  /** What people call it; its id is then the title. Without a name its id is shown. */
  name?: ReactNode;
  /** Shows the beginning of the id, which tells it from the others of a list. */
  short?: boolean;
  /** Stands in a line of other text, where its color alone does not show that it is a link. */
  inline?: boolean;
}

/** A thing as a link to its page. Every page names things by this component. */
export function ResourceLink({ of: kind, id, name, short = false, inline = false }: ResourceLinkProps) {
  const shown = name || (short && id !== null && id.length > shortIdMax ? `${id.slice(0, shortIdMax)}…` : id);
  const style = { ...(short && !name && { ff: 'monospace' }), ...(inline && { underline: 'always' as const }) };
  if (kind === null || !id) return <span className="breakable">{shown}</span>;
  const title = shown === id ? undefined : id;
  return (
    <PageLink {...pages[kind](id)} title={title} fz="inherit" className={short ? 'nowrap' : 'breakable'} {...style}>
      {shown}
    </PageLink>
  );
}

const shortIdMax = 18;

/** Several things of a kind, by their ids, with commas between them. */
export const ResourceLinks = ({ of: kind, ids, none }: { of: Kind; ids: readonly string[]; none: string }) =>
  ids.length === 0 ? (
    none
  ) : (
    <span className="breakable">
      {ids.map((id, index) => (
        <span key={`${id} ${index}`}>
          {index > 0 && ', '}
          <ResourceLink of={kind} id={id} inline={ids.length > 1} />
        </span>
      ))}
    </span>
  );

/** A key of which only the id is at hand. */
export const KeyLink = ({ id }: { id: string }) => <ResourceLink of="key" id={id} name={useKeyName(id)} />;

/** What an audit entry calls its operator, `Ada (atk_…)`, with the id in small letters below. It is cut where it has no room. */
export function Actor({ of: actor }: { of: string }) {
  const name = actorName(actor);
  return (
    <div className="who" title={actor}>
      {name}
      {name !== actor && (
        <Text span size="xs" c="dimmed">
          {actor.slice(name.length)}
        </Text>
      )}
    </div>
  );
}

/** What people call an operator. */
export const actorName = (actor: string): string => actor.replace(/ \((?:atk|opr)_\w+\)$/, '');

/** Who asked for something: a project and, below it, its key. */
export const Owner = ({
  of,
}: {
  of: { project_id: string; project_name: string; key_id: string; key_name: string };
}) => (
  <div className="lines">
    <ResourceLink of="project" id={of.project_id} name={of.project_name} />
    <Text size="xs" component="div" lh="inherit">
      <ResourceLink of="key" id={of.key_id} name={of.key_name} />
    </Text>
  </div>
);
