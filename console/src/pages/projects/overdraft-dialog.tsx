import { NumberInput } from '@mantine/core';
import { change } from '../../api/admin.ts';
import type { Project } from '../../api/admin-types.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';
import { TextField } from '../../ui/fields.tsx';
import { useEdits } from '../../ui/use-edits.tsx';

export type ProjectLimits = Pick<Project, 'overdraft' | 'alert_at' | 'alert_url' | 'alert_mail'>;

interface OverdraftDialogProps {
  projectId: string;
  limits: ProjectLimits;
  onClose: () => void;
}

/** Changes how far below zero a project may go, and when it is told that its credits run low. */
export function OverdraftDialog({ projectId, limits, onClose }: OverdraftDialogProps) {
  const form = useEdits({ path: '/projects/{id}', inputs: { id: projectId }, subject: projectId }, limits, fieldsOf);
  const { fields } = form;
  const set = (name: keyof typeof fields) => (text: string | number) => form.edit({ [name]: String(text) });
  const changes = Object.fromEntries(
    Object.entries(form.changes).map(([name, text]) => [name, text.trim() === '' ? null : text.trim()]),
  );
  return (
    <ActionDialog
      opened
      onClose={onClose}
      title="Overdraft and alerts"
      about="An overdraft lets requests take the balance below zero, for customers who pay later. Alerts tell the project that its credits run low, once per threshold."
      act="Save"
      disabled={form.isUnchanged}
      notice={form.notice}
      run={() => form.save((version) => change('patch', '/projects/{id}', { id: projectId }, changes, version))}
      done={({ warnings = [] }) => ['Changed the overdraft and the alerts.', ...warnings].join(' ')}
    >
      <NumberInput
        label="Overdraft"
        description="Credits below zero. Empty or 0 allows none"
        value={fields.overdraft}
        onChange={set('overdraft')}
        min={0}
        allowDecimal={false}
        thousandSeparator=","
      />
      <TextField
        label="Alert at"
        placeholder="Never"
        description="Credits, or percents of the last top-up, such as 20%, 5000000"
        value={fields.alert_at}
        onChange={set('alert_at')}
      />
      <TextField
        label="Alert URL"
        description="balance.low is posted there, signed as callbacks are"
        value={fields.alert_url}
        onChange={set('alert_url')}
      />
      <TextField
        label="Alert mail"
        description="Addresses, separated by commas"
        value={fields.alert_mail}
        onChange={set('alert_mail')}
      />
    </ActionDialog>
  );
}

const fieldsOf = (limits: ProjectLimits): Record<keyof ProjectLimits, string> => ({
  overdraft: limits.overdraft === 0 ? '' : String(limits.overdraft),
  alert_at: limits.alert_at?.join(', ') ?? '',
  alert_url: limits.alert_url ?? '',
  alert_mail: limits.alert_mail?.join(', ') ?? '',
});
