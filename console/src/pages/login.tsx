import { Button, Center, Code, Divider, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { takeAddressToken } from '../api/address-token.ts';
import { change } from '../api/admin.ts';
import { signInQuery, storeSession } from '../api/session.ts';
import { ErrorAlert } from '../ui/page.tsx';

/** Signs in at the identity provider if there is one, or by a token, which the browser hands over once for a session cookie. */
export function Login() {
  const queryClient = useQueryClient();
  const [token, setToken] = useState('');
  const signIn = useMutation({
    mutationFn: (value: string) => change('post', '/session', {}, { token: value.trim() }),
    onSuccess: (session) => storeSession(queryClient, session),
  });
  const { mutate } = signIn;
  const { data: options } = useQuery(signInQuery);
  const oidc = options?.oidc ?? null;
  useEffect(() => {
    document.title = 'Sign in · Tollgate';
    const addressToken = takeAddressToken();
    if (addressToken !== null) mutate(addressToken);
  }, [mutate]);
  return (
    <Center component="main" mih="100vh" p="md">
      <Paper withBorder p="xl" w="100%" maw={420} shadow="sm">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            mutate(token);
          }}
        >
          <Stack>
            <div>
              <Title order={1} size="h3">
                Sign in to Tollgate
              </Title>
              <Text c="dimmed" size="sm" mt={4}>
                A session lasts 12 hours. An admin token is not kept in this browser.
              </Text>
            </div>
            {oidc !== null && (
              <>
                {/* A page of the identity provider, so no link of the router. */}
                <Button component="a" href={oidc.url} fullWidth>
                  Sign in with {new URL(oidc.issuer).host}
                </Button>
                <Divider label="or" labelPosition="center" />
              </>
            )}
            <PasswordInput
              label="Admin token"
              placeholder="adm_…"
              value={token}
              onChange={(event) => setToken(event.currentTarget.value)}
              autoComplete="off"
              autoFocus
              required
            />
            {signIn.isError && <ErrorAlert error={signIn.error} />}
            <Button type="submit" variant={oidc === null ? 'filled' : 'default'} loading={signIn.isPending} fullWidth>
              Sign in
            </Button>
            <Text c="dimmed" size="sm">
              No token yet? Make one on the server:{' '}
              <Code display="block">npx tollgate admin-tokens create --role owner</Code>
            </Text>
          </Stack>
        </form>
      </Paper>
    </Center>
  );
}
