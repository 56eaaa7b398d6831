import { Button, Menu, Radio, Stack } from '@mantine/core';
import { useState } from 'react';
import { change } from '../../api/admin.ts';
import { isFinal } from '../../api/playground.ts';
import { useMay } from '../../api/session.ts';
import type { ResolvedTask, TaskTimeline } from '../../api/admin-types.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';
import { CreditsField, TextField } from '../../ui/fields.tsx';
import { credits } from '../../ui/format.ts';
import { RedeliverDialog } from '../../ui/redeliver-dialog.tsx';

type Action = 'cancel' | 'resolve' | 'redeliver' | 'adjust';

/** What an operator can do with a task. An action that makes no sense in its state is not offered. */
export function TaskActions({ task }: { task: TaskTimeline }) {
  const mayAct = useMay('operator');
  const [action, setAction] = useState<Action | null>(null);
  const ended = isFinal(task);
  const offered = [
    !ended && (['cancel', 'Cancel and refund'] as const),
    task.outcome_unknown && task.resolution === null && (['resolve', 'Record the outcome'] as const),
    ended && task.deliveries.length > 0 && (['redeliver', 'Send the callback again'] as const),
    task.credits.charged > 0 && (['adjust', 'Give credits back'] as const),
  ].filter((each) => each !== false);
  if (!mayAct || offered.length === 0) return null;
  const close = (): void => setAction(null);
  return (
    <>
      <Menu position="bottom-end" withArrow>
        <Menu.Target>
          <Button variant="default">Actions</Button>
        </Menu.Target>
        <Menu.Dropdown>
          {offered.map(([name, label]) => (
            <Menu.Item key={name} onClick={() => setAction(name)} {...(name === 'cancel' && { color: 'red' })}>
              {label}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <ActionDialog
        opened={action === 'cancel'}
        onClose={close}
        title="Cancel this task"
        about="The task ends now and its credits are refunded, even if the provider has begun and bills its job. This cannot be undone."
        act="Cancel and refund"
        dismiss="Keep the task"
        danger
        run={() => change('post', '/tasks/{id}/cancel', { id: task.task_id })}
        done={(result) =>
          result.ended ? `Canceled. ${credits(result.refunded)} refunded.` : 'It had already ended. Nothing changed.'
        }
      />
      <RedeliverDialog taskId={action === 'redeliver' ? task.task_id : null} onClose={close} />
      {action === 'resolve' && <ResolveDialog taskId={task.task_id} onClose={close} />}
      {action === 'adjust' && <AdjustDialog task={task} onClose={close} />}
    </>
  );
}

function ResolveDialog({ taskId, onClose }: { taskId: string; onClose: () => void }) {
  const [outcome, setOutcome] = useState<ResolvedTask['outcome']>('not_bought');
  const [reference, setReference] = useState('');
  return (
    <ActionDialog
      opened
      onClose={onClose}
      title="Record the outcome"
      about="The provider's answer was lost. Record what its invoice or its support says. The task itself does not change."
      act="Record"
      disabled={reference.trim() === ''}
      run={() => change('post', '/tasks/{id}/resolve', { id: taskId }, { outcome, reference })}
      done={() => 'The outcome is recorded.'}
    >
      <Radio.Group
        label="Did the provider bill the job?"
        value={outcome}
        onChange={(value) => setOutcome(value === 'bought' ? 'bought' : 'not_bought')}
      >
        <Stack gap="xs" mt="xs">
          <Radio value="not_bought" label="No, it billed nothing" />
          <Radio value="bought" label="Yes, it billed the job" />
        </Stack>
      </Radio.Group>
      <TextField
        label="Evidence"
        description="Such as an invoice or a ticket"
        value={reference}
        onChange={setReference}
        required
      />
    </ActionDialog>
  );
}

function AdjustDialog({ task, onClose }: { task: TaskTimeline; onClose: () => void }) {
  const [reason, setReason] = useState('');
  const [amount, setAmount] = useState<number | string>(task.credits.charged);
  return (
    <ActionDialog
      opened
      onClose={onClose}
      title="Give credits back"
      about={`This task was charged ${credits(task.credits.charged)}. What you give back is an entry of its own in the ledger.`}
      act="Give back"
      disabled={reason.trim() === '' || typeof amount !== 'number'}
      run={() => change('post', '/credits/adjust', {}, { task: task.task_id, reason, amount })}
      done={({ given }) =>
        given > 0
          ? `${credits(given)} given back.`
          : 'Credits were already given back for this reason. Nothing changed.'
      }
    >
      <CreditsField value={amount} onChange={setAmount} max={task.credits.charged} />
      <TextField
        label="Reason"
        description="The same reason gives credits back only once"
        value={reason}
        onChange={setReason}
        required
      />
    </ActionDialog>
  );
}
