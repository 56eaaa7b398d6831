import { Alert, Anchor, Button, Group, Loader, Stack, Text, Title, VisuallyHidden } from '@mantine/core';
import { useEffect, type ReactNode } from 'react';
import { ApiError } from '../api/request.ts';
import { ReadAt } from './freshness.tsx';
import { AlertIcon, RefreshIcon } from './icons.tsx';

interface PageProps {
  title: string;
  /** One sentence that says what the page is for. */
  about?: ReactNode;
  actions?: ReactNode;
  /** The page reads nothing of its own, so that there is no time to say. */
  readsNothing?: boolean;
  children: ReactNode;
}

/** The frame of every page: its heading, what it is for, its actions and its content. */
export function Page({ title, about, actions, readsNothing = false, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Tollgate`;
  }, [title]);
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-start" gap="sm">
        <div>
          <Title order={1} size="h2">
            {title}
          </Title>
          {about !== undefined && (
            <Text component="div" c="dimmed" mt={4} maw={720}>
              {about}
            </Text>
          )}
        </div>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
      <ReadAt readsNothing={readsNothing} />
      {children}
    </Stack>
  );
}

/** What went wrong and, with `retry`, a button that tries again. */
export function ErrorAlert({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <Alert color="red" variant="light" icon={<AlertIcon />} title="That did not work" role="alert">
      <Stack gap="xs" align="flex-start">
        <Text size="sm" className="prose">
          {error instanceof Error ? error.message : String(error)}
        </Text>
        {retry && (
          <Button size="xs" variant="default" leftSection={<RefreshIcon size={14} />} onClick={retry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

/** A list that has nothing to show, and what to do next. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <Stack align="center" gap={6} py={48} px="md" ta="center">
      <Text fw={600}>{title}</Text>
      {children !== undefined && (
        <Text component="div" c="dimmed" size="sm" maw={440}>
          {children}
        </Text>
      )}
    </Stack>
  );
}

/** Tells screen readers what a list, a search or a range shows now, whenever that changes. */
export function Announced({ children }: { children: string }) {
  return (
    <VisuallyHidden role="status" aria-live="polite">
      {children}
    </VisuallyHidden>
  );
}

export function Loading({ label = 'Loading' }: { label?: string }) {
  return (
    <Group justify="center" py={64} gap="sm" role="status" data-loading>
      <Loader size="sm" aria-hidden />
      <Text c="dimmed" size="sm">
        {label} …
      </Text>
    </Group>
  );
}

interface Loadable<T> {
  data: T | undefined;
  error: unknown;
  refetch: () => unknown;
}

/** Shows a query: that it loads, its error, with a way to try again unless there is no such thing, or its data. */
export function Loaded<T>({ of, children }: { of: Loadable<T>; children: (data: T) => ReactNode }) {
  if (of.data !== undefined) return <>{children(of.data)}</>;
  if (of.error instanceof ApiError && of.error.status === 404) return <ErrorAlert error={of.error} />;
  if (of.error) return <ErrorAlert error={of.error} retry={() => void of.refetch()} />;
  return <Loading />;
}

/** A page that takes its title from its data. Until they are loaded, its title is `title`. */
export function LoadedPage<T>({
  title,
  of,
  children,
}: {
  title: string;
  of: Loadable<T>;
  children: (data: T) => ReactNode;
}) {
  if (of.data !== undefined) return <>{children(of.data)}</>;
  return (
    <Page title={title}>
      <Loaded of={of}>{children}</Loaded>
    </Page>
  );
}

export function ExternalLink({ href, children }: { href: string; children: ReactNode }) {
  return (
    <Anchor href={href} target="_blank" rel="noreferrer">
      {children}
    </Anchor>
  );
}
