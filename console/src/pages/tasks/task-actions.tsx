import { Button, Menu, NumberInput, Radio, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { change } from '../../api/admin.ts';
import { isFinal } from '../../api/playground.ts';
import { useMay } from '../../api/session.ts';
import type { ResolvedTask, TaskTimeline } from '../../api/admin-types.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';
import { credits } from '../../ui/format.ts';

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
        danger
        run={() => change('post', '/tasks/{id}/cancel', { id: task.task_id })}
        done={(result) =>
          result.ended ? `Canceled. ${credits(result.refunded)} refunded.` : 'It had already ended. Nothing changed.'
        }
      />
      <ActionDialog
        opened={action === 'redeliver'}
        onClose={close}
        title="Send the callback again"
        about="The receiver gets the task once more, under a new webhook-id."
        act="Send"
        run={() => change('post', '/tasks/{id}/redeliver', { id: task.task_id })}
        done={() => 'The callback is on its way.'}
      />
      <ResolveDialog taskId={task.task_id} opened={action === 'resolve'} onClose={close} />
      <AdjustDialog task={task} opened={action === 'adjust'} onClose={close} />
    </>
  );
}

interface DialogProps {
  opened: boolean;
  onClose: () => void;
}

function ResolveDialog({ taskId, opened, onClose }: DialogProps & { taskId: string }) {
  const [outcome, setOutcome] = useState<ResolvedTask['outcome']>('not_bought');
  const [reference, setReference] = useState('');
  return (
    <ActionDialog
      opened={opened}
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
          <Radio value="not_bought" label="No, it was not bought" />
          <Radio value="bought" label="Yes, it was bought" />
        </Stack>
      </Radio.Group>
      <TextInput
        label="Evidence"
        description="Such as an invoice or a ticket"
        value={reference}
        onChange={(event) => setReference(event.currentTarget.value)}
        required
      />
    </ActionDialog>
  );
}

function AdjustDialog({ task, opened, onClose }: DialogProps & { task: TaskTimeline }) {
  const [reason, setReason] = useState('');
  const [amount, setAmount] = useState<number | string>(task.credits.charged);
  return (
    <ActionDialog
      opened={opened}
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
      <NumberInput
        label="Credits"
        value={amount}
        onChange={setAmount}
        min={1}
        max={task.credits.charged}
        allowDecimal={false}
        required
      />
      <TextInput
        label="Reason"
        description="The same reason gives credits back only once"
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
        required
      />
    </ActionDialog>
  );
}
