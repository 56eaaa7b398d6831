import { expect } from '@jest/globals';
import type { OidcIssuer } from '../support/oidc-issuer.ts';
import type { Scene } from './scene.ts';
import { startVisit } from './visit.ts';

/** Signs the person of the issuer in: first as a stranger, then with the role of a viewer, and last after its removal. */
export async function walkOidcSignIn(scene: Scene, { url: issuer, subject }: OidcIssuer): Promise<void> {
  const { browser, gateway, admin, visit: owner } = scene;
  const visit = await startVisit(browser, gateway.baseUrl);
  const { page } = visit;
  const signIn = page.getByRole('link', { name: `Sign in with ${new URL(issuer).host}` });
  await visit.open('/overview');
  await signIn.waitFor();
  await visit.picture('sign-in-oidc');
  await signIn.click();
  await page.getByRole('heading', { name: 'You have no role here' }).waitFor();
  await page.getByText(subject, { exact: true }).waitFor();
  await visit.picture('no-role');
  const person = { issuer, subject, name: 'Lin', role: 'viewer' };
  const { operator_id: id } = await admin.change('POST', '/operators', person);
  await page.getByRole('link', { name: 'Back to the sign-in page' }).click();
  await signIn.click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.getByRole('button', { name: /Signed in as\s*Lin/ }).waitFor();
  await visit.open('/access');
  await page.getByText('An owner decides who has access').waitFor();
  await owner.open('/access');
  await owner.page.getByText(subject).first().waitFor();
  await owner.picture('access-people');
  await admin.change('POST', `/operators/${String(id)}/remove`);
  await visit.open('/overview');
  await signIn.waitFor();
  expect(visit.complaints).toEqual([]);
  owner.problems.push(...visit.problems);
  await page.context().close();
}
