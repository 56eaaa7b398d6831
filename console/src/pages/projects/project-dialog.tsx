import { Textarea } from '@mantine/core';
import { change } from '../../api/admin.ts';
import type { Project } from '../../api/admin-types.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';
import { TextField } from '../../ui/fields.tsx';
import { useEdits } from '../../ui/use-edits.tsx';

type Described = Pick<Project, 'name' | 'note'>;

interface ProjectDialogProps {
  projectId: string;
  project: Described;
  onClose: () => void;
}

/** Changes the name of a project, and what operators note about it. */
export function ProjectDialog({ projectId, project, onClose }: ProjectDialogProps) {
  const form = useEdits({ path: '/projects/{id}', inputs: { id: projectId }, subject: projectId }, project, fieldsOf);
  const { name, note } = form.changes;
  // One line, as the audit log and lists show it.
  const oneLine = note?.replace(/\s+/g, ' ').trim();
  const changes = {
    ...(name !== undefined && { name: name.trim() }),
    ...(oneLine !== undefined && { note: oneLine === '' ? null : oneLine }),
  };
  return (
    <ActionDialog
      opened
      onClose={onClose}
      title="Name and note"
      about="The name is shown in lists, the note to operators only."
      act="Save"
      disabled={form.isUnchanged || form.fields.name.trim() === ''}
      notice={form.notice}
      run={() => form.save((version) => change('patch', '/projects/{id}', { id: projectId }, changes, version))}
      done={({ warnings = [] }) => ['The project is changed.', ...warnings].join(' ')}
    >
      <TextField
        label="Name"
        value={form.fields.name}
        onChange={(text) => form.edit({ name: text })}
        required
        data-autofocus
      />
      <Textarea
        label="Note"
        value={form.fields.note}
        onChange={({ currentTarget }) => form.edit({ note: currentTarget.value })}
        maxLength={1_000}
        autosize
        minRows={2}
      />
    </ActionDialog>
  );
}

const fieldsOf = ({ name, note }: Described) => ({ name, note: note ?? '' });
