import './api/address-token.ts';
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './ui/styles.css';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { setNonce } from 'get-nonce';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiError } from './api/request.ts';
import { sessionQuery } from './api/session.ts';
import { createConsoleRouter } from './router.tsx';
import { theme } from './ui/theme.ts';

/** The page may add style elements that carry the nonce of its policy. */
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
setNonce(nonce);

/** A session that has ended shows the sign-in page, whatever was asked. */
const onError = (error: unknown): void => {
  if (error instanceof ApiError && error.code === 'invalid_admin_token')
    queryClient.setQueryData(sessionQuery.queryKey, null);
};
const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (failures, error) =>
        failures < 2 && (!(error instanceof ApiError) || error.status === 0 || error.status >= 500),
    },
  },
});
// Every page waits for the session. It is asked for here, because the first rendering comes a tenth of a second later.
void queryClient.prefetchQuery(sessionQuery);
const router = createConsoleRouter(queryClient);

const root = document.getElementById('root');
if (!root) throw new Error('The page has no element #root');
createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <QueryClientProvider client={queryClient}>
        <Notifications position="bottom-right" />
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
