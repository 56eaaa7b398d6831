import { Select } from '@mantine/core';
import { change } from '../../api/admin.ts';
import type { Project } from '../../api/admin-types.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';
import { useEdits } from '../../ui/use-edits.tsx';

/** How much of what the chats of a project say traces have. */
export const traceContents = { none: 'None', redacted: 'Redacted', full: 'Full' } as const;
type Content = keyof typeof traceContents;

interface ProjectTracesDialogProps {
  projectId: string;
  content: Project['trace_content'];
  onClose: () => void;
}

/** Lets traces have what the chats of a project say, or ends it. */
export function ProjectTracesDialog({ projectId, content, onClose }: ProjectTracesDialogProps) {
  const form = useEdits(
    { path: '/projects/{id}', inputs: { id: projectId }, subject: projectId },
    { trace_content: content },
    (of): { content: Content } => ({ content: of.trace_content ?? 'none' }),
  );
  return (
    <ActionDialog
      opened
      onClose={onClose}
      title="Content of traces"
      about="Whether traces have the messages and answers of its chats from now on. Redacted leaves out keys, addresses and card numbers in their usual forms. Files are never recorded."
      act="Save"
      disabled={form.isUnchanged}
      notice={form.notice}
      run={() =>
        form.save((version) =>
          change('patch', '/projects/{id}', { id: projectId }, { trace_content: form.fields.content }, version),
        )
      }
      done={({ trace_content: set }) => `Content of traces: ${traceContents[set ?? 'none']}.`}
    >
      <Select
        label="Content"
        data={Object.entries(traceContents).map(([value, label]) => ({ value, label }))}
        value={form.fields.content}
        onChange={(value) => form.edit({ content: (value ?? 'none') as Content })}
        allowDeselect={false}
      />
    </ActionDialog>
  );
}
