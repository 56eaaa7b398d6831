import { JsonInput } from '@mantine/core';
import { useState } from 'react';
import { change } from '../../api/admin.ts';
import type { PlanRule } from '../../api/admin-types.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';
import { TextField } from '../../ui/fields.tsx';

const exampleRules = [{ models: '*', multiplier: 1.25 }];

interface PlanDialogProps {
  /** The plan whose rules are changed; absent for a new one. */
  plan?: { name: string; rules: readonly PlanRule[] };
  onClose: () => void;
}

/** Creates a plan, or replaces the rules of one. */
export function PlanDialog({ plan, onClose }: PlanDialogProps) {
  const [name, setName] = useState(plan?.name ?? '');
  const [text, setText] = useState(() => JSON.stringify(plan?.rules ?? exampleRules, null, 2));
  return (
    <ActionDialog
      opened
      onClose={onClose}
      size="lg"
      title={plan ? `Change ${plan.name}` : 'New plan'}
      about="The first rule that names a model decides about its price. What is already held keeps its price."
      act={plan ? 'Save' : 'Create'}
      disabled={name.trim() === ''}
      run={() =>
        plan
          ? change('patch', '/plans/{name}', { name: plan.name }, { rules: text })
          : change('post', '/plans', {}, { name: name.trim(), rules: text })
      }
      done={({ warnings = [] }) => [plan ? `Changed ${name}.` : `Created ${name}.`, ...warnings].join(' ')}
    >
      {!plan && <TextField label="Name" value={name} onChange={setName} required data-autofocus />}
      <JsonInput
        label="Rules"
        description='A rule has "models" (a glob of ids, or one after group:, type: or vendor:) and "multiplier" or "prices"'
        value={text}
        onChange={setText}
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
