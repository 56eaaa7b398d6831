import { useState } from 'react';
import { change } from '../../api/admin.ts';
import type { Role } from '../../api/session.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';
import { TextField } from '../../ui/fields.tsx';
import { RoleSelect } from './role-select.tsx';

/** Makes a token for the admin API. */
export function TokenDialog({ onClose, onToken }: { onClose: () => void; onToken: (token: string) => void }) {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const [expires, setExpires] = useState('90d');
  return (
    <ActionDialog
      opened
      onClose={onClose}
      title="New admin token"
      about={
        <>
          For a script, for the command line with <span className="nowrap">--server</span>, or to sign in here. The
          token outlives the session that makes it, and the audit log says who made it.
        </>
      }
      act="Create"
      disabled={name.trim() === ''}
      run={() =>
        change(
          'post',
          '/admin-tokens',
          {},
          {
            role,
            name: name.trim(),
            expires: expires.trim() === '' ? null : expires.trim(),
          },
        )
      }
      done={() => 'The token is created.'}
      onDone={({ token }) => onToken(token)}
    >
      <TextField
        label="Name"
        description="Who uses it, for the audit log"
        value={name}
        onChange={setName}
        required
        data-autofocus
      />
      <RoleSelect value={role} onChange={setRole} />
      <TextField
        label="Expires"
        placeholder="Never"
        description="Such as 90d or 2030-01-31"
        value={expires}
        onChange={setExpires}
      />
    </ActionDialog>
  );
}
