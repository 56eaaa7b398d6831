import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { change } from '../../api/admin.ts';
import { signInQuery, type Role } from '../../api/session.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';
import { TextField } from '../../ui/fields.tsx';
import { RoleSelect } from './role-select.tsx';

/** Lets a person sign in by OIDC. */
export function OperatorDialog({ onClose }: { onClose: () => void }) {
  const { data: options } = useQuery(signInQuery);
  const [name, setName] = useState('');
  const [issuer, setIssuer] = useState(options?.oidc?.issuer ?? '');
  const [subject, setSubject] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  return (
    <ActionDialog
      opened
      onClose={onClose}
      title="Add a person"
      about="Issuer and subject stand on the page that a person without a role sees after the sign-in."
      act="Add"
      disabled={[name, issuer, subject].some((text) => text.trim() === '')}
      run={() =>
        change('post', '/operators', {}, { name: name.trim(), issuer: issuer.trim(), subject: subject.trim(), role })
      }
      done={({ warnings = [] }) => [`${name} may sign in.`, ...warnings].join(' ')}
    >
      <TextField label="Name" description="For the audit log" value={name} onChange={setName} required data-autofocus />
      <TextField
        label="Issuer"
        description="The URL of the identity provider"
        value={issuer}
        onChange={setIssuer}
        required
      />
      <TextField
        label="Subject"
        description="The id of the person at the identity provider"
        value={subject}
        onChange={setSubject}
        required
      />
      <RoleSelect value={role} onChange={setRole} />
    </ActionDialog>
  );
}
