import { JsonInput } from '@mantine/core';
import { useState } from 'react';
import { change } from '../../api/admin.ts';
import type { PlanRule } from '../../api/admin-types.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';
import { TextField } from '../../ui/fields.tsx';
import { useEdits } from '../../ui/use-edits.tsx';

const exampleRules = [{ models: '*', multiplier: 1.25 }];

interface PlanDialogProps {
  /** The plan whose rules are changed; absent for a new one. */
  plan?: { plan_id: string; name: string; rules: readonly PlanRule[] };
  onClose: () => void;
}

/** Creates a plan, or replaces the rules of one. */
export function PlanDialog({ plan, onClose }: PlanDialogProps) {
  const [name, setName] = useState(plan?.name ?? '');
  const form = useEdits(
    { path: '/plans/{name}', inputs: { name }, subject: plan?.plan_id ?? null },
    plan ?? { rules: exampleRules },
    (of) => ({ rules: JSON.stringify(of.rules, null, 2) }),
  );
  const { rules } = form.fields;
  return (
    <ActionDialog
      opened
      onClose={onClose}
      size="lg"
      title={plan ? `Change ${plan.name}` : 'New plan'}
      about="The first rule that names a model decides about its price. What is already held keeps its price."
      act={plan ? 'Save' : 'Create'}
      disabled={plan ? form.isUnchanged : name.trim() === ''}
      notice={form.notice}
      run={() =>
        plan
          ? form.save((version) => change('patch', '/plans/{name}', { name }, { rules }, version))
          : change('post', '/plans', {}, { name: name.trim(), rules })
      }
      done={({ warnings = [] }) => [plan ? `Changed ${name}.` : `Created ${name}.`, ...warnings].join(' ')}
    >
      {!plan && <TextField label="Name" value={name} onChange={setName} required data-autofocus />}
      <JsonInput
        label="Rules"
        description='A rule has "models" (a glob of ids, or one after group:, type: or vendor:) and "multiplier" or "prices"'
        value={rules}
        onChange={(text) => form.edit({ rules: text })}
        formatOnBlur
        autosize
        minRows={8}
        maxRows={22}
        validationError="This is not JSON"
        spellCheck={false}
      />
    </ActionDialog>
  );
}
