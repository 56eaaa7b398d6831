import { useState } from 'react';
import { change } from '../../api/admin.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';
import { CreditsField, TextField } from '../../ui/fields.tsx';
import { credits } from '../../ui/format.ts';

interface CreditsDialogProps {
  projectId: string;
  onClose: () => void;
}

/** Adds credits to a project, which last or expire. */
export function AddCreditsDialog({ projectId, onClose }: CreditsDialogProps) {
  const [amount, setAmount] = useState<number | string>(1_000);
  const [reference, setReference] = useState('');
  const [expires, setExpires] = useState('');
  return (
    <ActionDialog
      opened
      onClose={onClose}
      title="Add credits"
      about="The same reference adds credits only once, so a repeated press cannot pay twice."
      act="Add"
      disabled={typeof amount !== 'number' || reference.trim() === ''}
      run={() =>
        change(
          'post',
          '/credits',
          {},
          {
            project: projectId,
            amount,
            reference: reference.trim(),
            ...(expires.trim() !== '' && { expires: expires.trim() }),
          },
        )
      }
      done={({ balance }) => `The project has ${credits(balance)} now.`}
    >
      <CreditsField value={amount} onChange={setAmount} />
      <TextField
        label="Reference"
        description="Such as the number of an invoice"
        value={reference}
        onChange={setReference}
        required
      />
      <TextField
        label="Expires"
        placeholder="Never"
        description="Such as 30d, 2030-01-31 or 2030-01-31T12:00:00Z. These credits are spent before those that last, and what is left then leaves the account"
        value={expires}
        onChange={setExpires}
      />
    </ActionDialog>
  );
}

/** Takes credits out of a project, for a payment that was refunded or charged back. */
export function DeductCreditsDialog({ projectId, onClose }: CreditsDialogProps) {
  const [amount, setAmount] = useState<number | string>('');
  const [reference, setReference] = useState('');
  const [reason, setReason] = useState('');
  return (
    <ActionDialog
      opened
      onClose={onClose}
      title="Deduct credits"
      about="For a payment that was refunded or charged back. The balance may become negative: then no request is accepted until it is above zero. The same reference deducts only once."
      act="Deduct"
      disabled={typeof amount !== 'number' || reference.trim() === '' || reason.trim() === ''}
      run={() =>
        change(
          'post',
          '/credits/deduct',
          {},
          { project: projectId, amount, reference: reference.trim(), reason: reason.trim() },
        )
      }
      done={({ balance }) => `The project has ${credits(balance)} now.`}
    >
      <CreditsField value={amount} onChange={setAmount} />
      <TextField
        label="Reference"
        description="Such as the number of the refund or chargeback"
        value={reference}
        onChange={setReference}
        required
      />
      <TextField
        label="Reason"
        description="The project sees it in its ledger"
        value={reason}
        onChange={setReason}
        required
      />
    </ActionDialog>
  );
}
