import { ActionIcon, Code, CopyButton, Group, Text, Tooltip } from '@mantine/core';
import { CheckIcon, CopyIcon } from './icons.tsx';
import { useTick } from './clock.ts';
import { ago, time, words } from './format.ts';

/** A time as a distance from now, with the exact one on hover and for screen readers; or the words for none. A list shows fifty of them. */
export function When({ at, absent = 'Not yet' }: { at: number | null; absent?: string }) {
  useTick();
  if (at === null) return absent;
  return (
    <time dateTime={new Date(at * 1_000).toISOString()} title={time(at)} className="nowrap">
      {ago(at)}
    </time>
  );
}

/** Since when calls of unknown cost are counted, where a range begins before. */
export const CountedFrom = ({ at }: { at: number | null }) =>
  at !== null && (
    <Text size="sm" c="dimmed">
      Calls whose cost is unknown, and clients that left, are counted from {time(at)} on. The cost of earlier days is at
      least what is shown.
    </Text>
  );

const tones: Record<string, string> = {
  succeeded: 'teal',
  delivered: 'teal',
  active: 'teal',
  charged: 'teal',
  available: 'teal',
  ok: 'teal',
  processing: 'blue',
  running: 'blue',
  failed: 'red',
  retrying: 'yellow',
  retired: 'orange',
  ending: 'orange',
  exhausted: 'red',
  tripped: 'red',
  alarm: 'red',
  revoked: 'red',
  refused: 'orange',
  refunded: 'orange',
  'left, charged': 'yellow',
  'left, refunded': 'yellow',
  blocked: 'orange',
  gone: 'orange',
  unknown: 'orange',
  transient: 'orange',
  'cooling down': 'orange',
  'not drawn': 'orange',
  probing: 'yellow',
};

/** The state of a thing. The text says it, the color only supports it. A plain element, because a list shows fifty of them. */
export function Status({ of: state }: { of: string }) {
  return (
    <span className="badge" data-tone={tones[state.replaceAll('_', ' ')]}>
      {words(state)}
    </span>
  );
}

/** An id or a secret with a button that copies it. */
export function Copyable({ text, label = 'Copy', wrap = false }: { text: string; label?: string; wrap?: boolean }) {
  return (
    <Group gap={4} wrap="nowrap" miw={0}>
      <Code className={wrap ? 'secret' : 'nowrap'}>{text}</Code>
      <CopyAction text={text} label={label} />
    </Group>
  );
}

export function CopyAction({ text, label = 'Copy' }: { text: string; label?: string }) {
  return (
    <CopyButton value={text} timeout={1_500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : label} withArrow>
          <ActionIcon
            variant="subtle"
            color={copied ? 'teal' : 'gray'}
            onClick={copy}
            aria-label={copied ? 'Copied' : label}
          >
            {copied ? <CheckIcon size={16} /> : <CopyIcon size={16} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

/** Names and values, one below the other. Rows without a value are left out. */
export function Facts({ of: rows }: { of: [string, React.ReactNode][] }) {
  return (
    <dl className="facts">
      {rows
        .filter(([, value]) => value !== null && value !== undefined && value !== false && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
