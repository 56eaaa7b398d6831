import { Anchor, Button } from '@mantine/core';
import { createLink } from '@tanstack/react-router';
import type { ComponentProps } from 'react';

/** Links to pages of the console. Their addresses and parameters are checked by the compiler. */
export const PageLink = createLink((props: ComponentProps<typeof Anchor<'a'>>) => <Anchor<'a'> {...props} />);
export const PageButton = createLink((props: ComponentProps<typeof Button<'a'>>) => (
  <Button<'a'> component="a" {...props} />
));
