import { ActionDialog } from './action-dialog.tsx';

type Verb = 'enable' | 'disable';

interface SwitchDialogProps {
  opened: boolean;
  onClose: () => void;
  /** The name of the thing that is switched, as a sentence has it. */
  name: string;
  enabled: boolean;
  /** What each of the two does. */
  about: Record<Verb, string>;
  run: (verb: Verb) => Promise<unknown>;
}

/** Disables what is enabled, or enables it again, after asking. */
export function SwitchDialog({ opened, onClose, name, enabled, about, run }: SwitchDialogProps) {
  const verb = enabled ? 'disable' : 'enable';
  const act = enabled ? 'Disable' : 'Enable';
  return (
    <ActionDialog
      opened={opened}
      onClose={onClose}
      title={`${act} ${name}`}
      about={about[verb]}
      act={act}
      danger={enabled}
      run={() => run(verb)}
      done={() => `${name} is ${verb}d.`}
    />
  );
}
