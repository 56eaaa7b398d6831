import { change } from '../api/admin.ts';
import { ActionDialog } from './action-dialog.tsx';

/** Sends the callback of an ended task again, after asking. Null shows nothing. */
export function RedeliverDialog({ taskId, onClose }: { taskId: string | null; onClose: () => void }) {
  return (
    <ActionDialog
      opened={taskId !== null}
      onClose={onClose}
      title="Send the callback again"
      about="The receiver gets the task once more, under a new webhook-id."
      act="Send"
      run={() => change('post', '/tasks/{id}/redeliver', { id: taskId ?? '' })}
      done={() => 'The callback is on its way.'}
    />
  );
}
