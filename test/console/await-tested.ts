import type { Visit } from './visit.ts';

/**
 * Waits until the free test of a provider has succeeded. On a machine that stands still for five seconds no connection is made in time, so a
 * failed test is repeated once, as an operator would: by the keyboard, which costs no click.
 */
export async function awaitTested({ dialog }: Pick<Visit, 'dialog'>, credential: string): Promise<void> {
  const succeeded = dialog.getByText('The test succeeded');
  const failed = dialog.getByText('The test failed');
  await succeeded.or(failed).waitFor();
  if (await succeeded.isVisible()) return;
  const field = dialog.getByLabel('API key');
  await field.fill('');
  await field.fill(credential);
  await field.press('Enter');
  await succeeded.waitFor();
}
