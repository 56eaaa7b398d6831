import { expect } from '@jest/globals';
import { rowOf, rowsOf } from './rows.ts';
import type { Action } from './scene.ts';

/** The actions on the credits of a project, and on its overdraft and alerts. */
export const creditActions: readonly Action[] = [
  {
    actions: ['credits add'],
    promise: 'adds credits, once for each reference',
    async walk({ visit, admin, stage: { shop } }) {
      await visit.open(`/projects/${shop.projectId}`);
      for (const _ of ['once', 'again']) {
        await visit.press('Add credits');
        await visit.fill('Credits', '2500');
        await visit.fill('Reference', 'invoice 2026-117');
        await visit.confirm('Add');
        await visit.awaitMessage(/^The project has 1\d,\d{3} credits · \$\S+ now\.$/);
      }
      const entries = await rowsOf(admin, `/ledger?project=${shop.projectId}&limit=1000`);
      expect(entries.filter(({ reference }) => reference === 'invoice 2026-117')).toMatchObject([
        { kind: 'topup', credits: 2_500 },
      ]);
    },
  },
  {
    actions: ['credits add'],
    promise: 'adds credits that expire, and shows when',
    async walk({ visit, admin, stage: { shop } }) {
      await visit.open(`/projects/${shop.projectId}`);
      await visit.press('Add credits');
      await visit.fill('Credits', '300');
      await visit.fill('Reference', 'welcome gift');
      await visit.fill('Expires', '2030-01-31T12:00:00Z');
      await visit.confirm('Add');
      await visit.awaitMessage(/^The project has [\d,]+ credits · \$\S+ now\.$/);
      await visit.page.getByRole('heading', { name: 'Credits that expire' }).waitFor();
      await visit.page.getByRole('row', { name: /^300 · \$\d+\.\d+ 31 Jan 2030, / }).waitFor();
      await visit.picture('project-expiring');
      expect(await admin.read(`/credits?project=${shop.projectId}`)).toMatchObject({
        expiring: [{ credits: 300, expires_at: Date.UTC(2030, 0, 31, 12) / 1_000 }],
      });
    },
  },
  {
    actions: ['credits deduct'],
    promise: 'deducts credits, once for each reference',
    async walk({ visit, admin, stage: { shop } }) {
      await visit.open(`/projects/${shop.projectId}`);
      for (const _ of ['once', 'again']) {
        await visit.press('Deduct credits');
        await visit.fill('Credits', '40');
        await visit.fill('Reference', 'refund 2026-3');
        await visit.fill('Reason', 'the customer returned it');
        await visit.confirm('Deduct');
        await visit.awaitMessage(/^The project has [\d,]+ credits · \$\S+ now\.$/);
      }
      const entries = await rowsOf(admin, `/ledger?project=${shop.projectId}&limit=1000`);
      expect(entries.filter(({ reference }) => reference === 'refund 2026-3')).toMatchObject([
        { kind: 'deduct', credits: -40, reason: 'the customer returned it' },
      ]);
    },
  },
  {
    actions: ['projects set'],
    promise: 'lets traces have what the chats of a project say, shows it, and ends it',
    async walk({ visit, admin, stage: { shop } }) {
      await visit.open(`/projects/${shop.projectId}`);
      for (const [choice, content] of [
        ['Redacted', 'redacted'],
        ['Full', 'full'],
        ['None', null],
      ] as const) {
        await visit.press('Content of traces');
        await visit.dialog
          .getByRole('combobox', { name: 'Content' })
          .or(visit.dialog.getByRole('textbox', { name: 'Content' }))
          .first()
          .click();
        await visit.page.getByRole('option', { name: choice }).click();
        await visit.confirm('Save');
        await visit.awaitMessage(`Content of traces: ${choice}.`);
        expect(await rowOf(admin, '/projects', { project_id: shop.projectId })).toMatchObject({
          trace_content: content,
        });
      }
    },
  },
  {
    actions: ['projects set'],
    promise: 'gives a project an overdraft and alerts, shows them, and takes them away',
    async walk({ visit, admin, gateway, stage: { shop } }) {
      const alertUrl = `${gateway.sandboxUrl}/_sandbox/inbox/alerts`;
      const project = () => rowOf(admin, '/projects', { project_id: shop.projectId });
      const save = async (fields: Record<string, string>, message: string): Promise<void> => {
        await visit.press('Overdraft and alerts');
        for (const [label, text] of Object.entries(fields)) await visit.fill(label, text);
        await visit.confirm('Save');
        await visit.awaitMessage(message);
      };
      await visit.open(`/projects/${shop.projectId}`);
      await save({ Overdraft: '5000' }, 'Changed the overdraft and the alerts.');
      await visit.page.getByText(/^5,000 · \$\d+\.\d+$/).waitFor();
      await save({ 'Alert at': '10%, 90' }, 'Crossed thresholds are not reported until');
      await save(
        { 'Alert URL': alertUrl, 'Alert mail': 'ops@example.com, cfo@example.com' },
        'No mail is sent until ALARM_SMTP_URL is set.',
      );
      await visit.page.getByText(/^At 10% of the last top-up, 90 credits/).waitFor();
      await visit.page.getByText(`${alertUrl}, ops@example.com, cfo@example.com`).waitFor();
      expect(await project()).toMatchObject({
        overdraft: 5_000,
        alert_at: ['10%', '90'],
        alert_url: alertUrl,
        alert_mail: ['ops@example.com', 'cfo@example.com'],
      });
      await visit.press('Overdraft and alerts');
      await visit.confirm('Cancel');
      await visit.picture('project-alerts');
      await save(
        { Overdraft: '', 'Alert at': '', 'Alert URL': '', 'Alert mail': '' },
        'Changed the overdraft and the alerts.',
      );
      expect(await project()).toMatchObject({ overdraft: 0, alert_at: null, alert_url: null, alert_mail: null });
    },
  },
];
