import { Card } from '@mantine/core';
import { PageButton } from '../ui/links.tsx';
import { Empty, Page } from '../ui/page.tsx';

/** The page for an address that no route matches. */
export function NotFound() {
  return (
    <Page readsNothing title="Page not found" about="No page of the console has this address.">
      <Card withBorder>
        <Empty title="There is nothing here">
          <PageButton to="/overview">Go to the overview</PageButton>
        </Empty>
      </Card>
    </Page>
  );
}
