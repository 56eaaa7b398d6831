import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { change } from '../../api/admin.ts';
import { plansQuery } from '../../api/queries.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';
import { useEdits } from '../../ui/use-edits.tsx';

interface ProjectPlanDialogProps {
  projectId: string;
  /** Null: the prices of the catalog. */
  plan: string | null;
  onClose: () => void;
}

/** Gives a project another plan, or the prices of the catalog. */
export function ProjectPlanDialog({ projectId, plan, onClose }: ProjectPlanDialogProps) {
  const plans = useQuery(plansQuery);
  const form = useEdits(
    { path: '/projects/{id}', inputs: { id: projectId }, subject: projectId },
    { plan },
    (of): { plan: string } => ({ plan: of.plan ?? '' }),
  );
  const names = plans.data?.data.map(({ name }) => name) ?? [];
  return (
    <ActionDialog
      opened
      onClose={onClose}
      title="Change the plan"
      about="Its requests have the prices of the plan from now on. What is already held keeps its price."
      act="Save"
      disabled={form.isUnchanged}
      notice={form.notice}
      run={() =>
        form.save((version) =>
          change('patch', '/projects/{id}', { id: projectId }, { plan: form.fields.plan || null }, version),
        )
      }
      done={({ plan: newPlan }) =>
        newPlan === null ? 'The project has the prices of the catalog.' : `The project has the plan ${newPlan}.`
      }
    >
      <Select
        label="Plan"
        data={[{ value: '', label: 'Prices of the catalog' }, ...names.map((name) => ({ value: name, label: name }))]}
        value={form.fields.plan}
        onChange={(value) => form.edit({ plan: value ?? '' })}
        allowDeselect={false}
      />
    </ActionDialog>
  );
}
