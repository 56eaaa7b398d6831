import { useState } from 'react';
import { change } from '../../api/admin.ts';
import type { Key } from '../../api/admin-types.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';
import { KeyDialog } from '../projects/key-dialog.tsx';
import { KeyReady, type ReadyKey } from '../projects/key-ready.tsx';

export type KeyAction = { kind: 'create' | 'edit' | 'rotate' | 'revoke'; key: Key | null };

/** The dialogs of what can be done with a key; a new secret is shown after them. */
export function KeyDialogs({
  projectId,
  action,
  onClose,
}: {
  projectId: string;
  action: KeyAction | null;
  onClose: () => void;
}) {
  const [ready, setReady] = useState<ReadyKey | null>(null);
  const key = action?.key ?? null;
  return (
    <>
      {(action?.kind === 'create' || action?.kind === 'edit') && (
        <KeyDialog projectId={projectId} existing={key} onClose={onClose} onReady={setReady} />
      )}
      <ActionDialog
        opened={action?.kind === 'rotate'}
        onClose={onClose}
        title={`New secret for ${nameOf(key)}`}
        about="The key gets a new secret. The old one works for 24 more hours."
        act="Make a new secret"
        run={() => change('post', '/keys/{id}/rotate', { id: key?.key_id ?? '' })}
        done={() => 'The key has a new secret.'}
        onDone={({ api_key: secret }) => key && setReady({ keyId: key.key_id, secret, scopes: key.scopes })}
      />
      <ActionDialog
        opened={action?.kind === 'revoke'}
        onClose={onClose}
        title={`Revoke ${nameOf(key)}`}
        about="Requests with this key are refused from now on. This cannot be undone."
        act="Revoke"
        danger
        run={() => change('post', '/keys/{id}/revoke', { id: key?.key_id ?? '' })}
        done={() => 'The key is revoked.'}
      />
      {ready && <KeyReady ready={ready} onClose={() => setReady(null)} />}
    </>
  );
}

export const nameOf = (key: Key | null): string => key?.name || key?.key_id || '';
