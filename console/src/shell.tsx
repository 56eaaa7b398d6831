import {
  ActionIcon,
  Anchor,
  AppShell,
  Badge,
  Burger,
  Group,
  Menu,
  Text,
  Tooltip,
  UnstyledButton,
  VisuallyHidden,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { change } from './api/admin.ts';
import { sessionQuery } from './api/session.ts';
import type { Session } from './api/admin-types.ts';
import { Login } from './pages/login.tsx';
import { SearchBox } from './search-box.tsx';
import {
  AccessIcon,
  AuditIcon,
  ChannelsIcon,
  DeliveriesIcon,
  ScheduledJobsIcon,
  LogoutIcon,
  ModelsIcon,
  MoonIcon,
  OverviewIcon,
  PlansIcon,
  PlaygroundIcon,
  ProjectsIcon,
  RequestsIcon,
  SummariesIcon,
  SunIcon,
  TasksIcon,
  UsageIcon,
} from './ui/icons.tsx';
import { chooseZone, useZone } from './ui/clock.ts';
import { AwayBanner, useAutoRefresh } from './ui/freshness.tsx';
import { Loaded } from './ui/page.tsx';
import { PageLink } from './ui/links.tsx';

const pages = [
  { to: '/overview', label: 'Overview', Icon: OverviewIcon },
  { to: '/playground', label: 'Playground', Icon: PlaygroundIcon },
  { to: '/tasks', label: 'Tasks', Icon: TasksIcon },
  { to: '/requests', label: 'Requests', Icon: RequestsIcon },
  { to: '/models', label: 'Models', Icon: ModelsIcon },
  { to: '/plans', label: 'Plans', Icon: PlansIcon },
  { to: '/channels', label: 'Channels', Icon: ChannelsIcon },
  { to: '/projects', label: 'Projects and keys', Icon: ProjectsIcon },
  { to: '/deliveries', label: 'Deliveries', Icon: DeliveriesIcon },
  { to: '/audit', label: 'Audit', Icon: AuditIcon },
  { to: '/jobs', label: 'Jobs', Icon: ScheduledJobsIcon },
  { to: '/usage', label: 'Usage', Icon: UsageIcon },
  { to: '/summaries', label: 'Summaries', Icon: SummariesIcon },
  { to: '/access', label: 'Access', Icon: AccessIcon },
] as const;

/** The sign-in page, or the frame around every other page. */
export function Shell() {
  const session = useQuery(sessionQuery);
  return <Loaded of={session}>{(data) => (data === null ? <Login /> : <Frame session={data} />)}</Loaded>;
}

function Frame({ session }: { session: Session }) {
  const [opened, { toggle, close }] = useDisclosure(false);
  const zone = useZone();
  // The page of a key belongs to the projects, whose address is another.
  const isOfKey = useLocation({ select: ({ pathname }) => pathname.startsWith('/keys/') });
  useAutoRefresh();
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 232, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding={{ base: 'md', sm: 'xl' }}
    >
      <Anchor href="#main" className="skip-link">
        Skip to the content
      </Anchor>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={opened}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={opened ? 'Close the menu' : 'Open the menu'}
              aria-expanded={opened}
            />
            <PageLink to="/overview" underline="never" c="inherit" fw={700} fz="lg">
              Tollgate
            </PageLink>
          </Group>
          <SearchBox />
          <Group gap="xs" wrap="nowrap">
            <ThemeButton />
            <Account session={session} />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" className="nav" component="nav" aria-label="Pages">
        {pages.map(({ to, label, Icon }) => (
          <Link
            key={to}
            to={to}
            onClick={close}
            className="nav-link"
            {...(to === '/projects' && isOfKey && { 'aria-current': 'page' })}
          >
            <Icon />
            {label}
          </Link>
        ))}
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1}>
        <div className="content">
          <AwayBanner />
          <Outlet key={zone} />
        </div>
      </AppShell.Main>
    </AppShell>
  );
}

function ThemeButton() {
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme('light', { getInitialValueInEffect: false }) === 'dark';
  const label = isDark ? 'Use light colors' : 'Use dark colors';
  return (
    <Tooltip label={label} withArrow>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={label}
        onClick={() => setColorScheme(isDark ? 'light' : 'dark')}
      >
        {isDark ? <SunIcon /> : <MoonIcon />}
      </ActionIcon>
    </Tooltip>
  );
}

function Account({ session }: { session: Session }) {
  const queryClient = useQueryClient();
  const isUtc = useZone() === 'utc';
  const leave = useMutation({
    mutationFn: () => change('delete', '/session', {}),
    onSuccess: () => {
      queryClient.setQueryData(sessionQuery.queryKey, null);
      queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] });
    },
  });
  return (
    <Menu position="bottom-end" withArrow>
      <Menu.Target>
        <UnstyledButton className="account">
          <VisuallyHidden>Signed in as</VisuallyHidden>
          <Text size="sm" fw={500} truncate maw={140} visibleFrom="xs">
            {session.name || session.actor}
          </Text>
          <Badge variant="light" color="gray" tt="none">
            {session.role}
          </Badge>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => chooseZone(isUtc ? 'local' : 'utc')}>
          {isUtc ? 'Show local times' : 'Show times in UTC'}
        </Menu.Item>
        <Menu.Item leftSection={<LogoutIcon size={16} />} onClick={() => leave.mutate()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
