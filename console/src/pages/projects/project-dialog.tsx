import { Textarea } from '@mantine/core';
import { useState } from 'react';
import { change } from '../../api/admin.ts';
import type { Project } from '../../api/admin-types.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';
import { TextField } from '../../ui/fields.tsx';

interface ProjectDialogProps {
  projectId: string;
  project: Pick<Project, 'name' | 'note'>;
  onClose: () => void;
}

/** Changes the name of a project, and what operators note about it. */
export function ProjectDialog({ projectId, project, onClose }: ProjectDialogProps) {
  const [before] = useState(project);
  const [name, setName] = useState(project.name);
  const [note, setNote] = useState(project.note ?? '');
  // One line, as the audit log and lists show it.
  const oneLine = note.replace(/\s+/g, ' ').trim();
  const changes = {
    ...(name.trim() !== before.name && { name: name.trim() }),
    ...(oneLine !== (before.note ?? '') && { note: oneLine === '' ? null : oneLine }),
  };
  return (
    <ActionDialog
      opened
      onClose={onClose}
      title="Name and note"
      about="The name is shown in lists, the note to operators only."
      act="Save"
      disabled={name.trim() === '' || Object.keys(changes).length === 0}
      run={() => change('patch', '/projects/{id}', { id: projectId }, changes)}
      done={({ warnings = [] }) => ['The project is changed.', ...warnings].join(' ')}
    >
      <TextField label="Name" value={name} onChange={setName} required data-autofocus />
      <Textarea
        label="Note"
        value={note}
        onChange={({ currentTarget }) => setNote(currentTarget.value)}
        maxLength={1_000}
        autosize
        minRows={2}
      />
    </ActionDialog>
  );
}
