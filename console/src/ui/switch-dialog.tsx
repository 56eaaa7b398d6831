import { ActionDialog } from './action-dialog.tsx';

type SwitchAction = 'enable' | 'disable';

interface SwitchDialogProps {
  opened: boolean;
  onClose: () => void;
  /** The name of the thing that is switched, as a sentence has it. */
  name: string;
  enabled: boolean;
  /** What each of the two does. */
  about: Record<SwitchAction, string>;
  run: (action: SwitchAction) => Promise<unknown>;
}

/** Disables what is enabled, or enables it again, after asking. */
export function SwitchDialog({ opened, onClose, name, enabled, about, run }: SwitchDialogProps) {
  const action = enabled ? 'disable' : 'enable';
  const act = enabled ? 'Disable' : 'Enable';
  return (
    <ActionDialog
      opened={opened}
      onClose={onClose}
      title={`${act} ${name}`}
      about={about[action]}
      act={act}
      danger={enabled}
      run={() => run(action)}
      done={() => `${name} is ${action}d.`}
    />
  );
}
