import { Stack, Title } from '@mantine/core';
import { useMay } from '../../api/session.ts';
import { Empty, Page } from '../../ui/page.tsx';
import { AdminTokens } from './admin-tokens.tsx';
import { Operators } from './operators.tsx';

/** Who may use the console and the admin API. */
export default function Access() {
  const isOwner = useMay('owner');
  return (
    <Page title="Access" about="Who may use this console and the admin API, and with which role.">
      {isOwner ? (
        <Stack gap="xl">
          <Stack>
            <Title order={2} size="h3">
              People
            </Title>
            <Operators />
          </Stack>
          <Stack>
            <Title order={2} size="h3">
              Admin tokens
            </Title>
            <AdminTokens />
          </Stack>
        </Stack>
      ) : (
        <Empty title="An owner decides who has access" />
      )}
    </Page>
  );
}
