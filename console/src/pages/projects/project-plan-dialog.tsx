import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { change } from '../../api/admin.ts';
import { plansQuery } from '../../api/queries.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';

interface ProjectPlanDialogProps {
  projectId: string;
  /** Null: the prices of the catalog. */
  plan: string | null;
  onClose: () => void;
}

/** Gives a project another plan, or the prices of the catalog. */
export function ProjectPlanDialog({ projectId, plan, onClose }: ProjectPlanDialogProps) {
  const plans = useQuery(plansQuery);
  const [chosen, setChosen] = useState(plan ?? '');
  const names = plans.data?.data.map(({ name }) => name) ?? [];
  return (
    <ActionDialog
      opened
      onClose={onClose}
      title="Change the plan"
      about="Its requests have the prices of the plan from now on. What is already held keeps its price."
      act="Save"
      run={() => change('patch', '/projects/{id}', { id: projectId }, { plan: chosen === '' ? null : chosen })}
      done={({ plan: given }) =>
        given === null ? 'The project has the prices of the catalog.' : `The project has the plan ${given}.`
      }
    >
      <Select
        label="Plan"
        data={[{ value: '', label: 'Prices of the catalog' }, ...names.map((name) => ({ value: name, label: name }))]}
        value={chosen}
        onChange={(value) => setChosen(value ?? '')}
        allowDeselect={false}
      />
    </ActionDialog>
  );
}
