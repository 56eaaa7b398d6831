import { useState } from 'react';
import { change } from '../../api/admin.ts';
import type { Key } from '../../api/admin-types.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';
import { useEdits } from '../../ui/use-edits.tsx';
import { KeyDialog } from '../projects/key-dialog.tsx';
import { KeyReady, type ReadyKey } from '../projects/key-ready.tsx';

export type KeyAction = { kind: 'create' | 'edit' | 'rotate' | 'revoke'; key: Key | null };

/** The dialogs of what can be done with a key; a new secret is shown after them. */
export function KeyActionDialog({
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
      {key && action?.kind === 'rotate' && <RotateKey of={key} onClose={onClose} onReady={setReady} />}
      {key && action?.kind === 'revoke' && <RevokeKey of={key} onClose={onClose} />}
      {ready && <KeyReady ready={ready} onClose={() => setReady(null)} />}
    </>
  );
}

/** The key as the dialog has read it: what another operator did to it meanwhile is shown first. */
const useKey = (key: Key) =>
  useEdits({ path: '/keys/{id}', inputs: { id: key.key_id }, subject: key.key_id }, key, () => ({}));

function RotateKey({
  of: key,
  onClose,
  onReady,
}: {
  of: Key;
  onClose: () => void;
  onReady: (ready: ReadyKey) => void;
}) {
  const form = useKey(key);
  return (
    <ActionDialog
      opened
      onClose={onClose}
      title={`New secret for ${nameOf(key)}`}
      about="The key gets a new secret. The old one works for 24 more hours."
      act="Make a new secret"
      disabled={!form.isRead}
      notice={form.notice}
      run={() => form.save((version) => change('post', '/keys/{id}/rotate', { id: key.key_id }, {}, version))}
      done={() => 'The key has a new secret.'}
      onDone={({ api_key: secret }) => onReady({ keyId: key.key_id, secret, scopes: key.scopes })}
    />
  );
}

function RevokeKey({ of: key, onClose }: { of: Key; onClose: () => void }) {
  const form = useKey(key);
  return (
    <ActionDialog
      opened
      onClose={onClose}
      title={`Revoke ${nameOf(key)}`}
      about="Requests with this key are refused from now on. This cannot be undone."
      act="Revoke"
      danger
      disabled={!form.isRead}
      notice={form.notice}
      run={() => form.save((version) => change('post', '/keys/{id}/revoke', { id: key.key_id }, {}, version))}
      done={() => 'The key is revoked.'}
    />
  );
}

export const nameOf = (key: Key | null): string => key?.name || key?.key_id || '';
