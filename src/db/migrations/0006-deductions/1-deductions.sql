-- Credits that leave an account, and balances below zero.

-- How far holds may take the balance below zero.
alter table credit_account add column overdraft bigint not null default 0 check (overdraft >= 0);
-- The largest overdraft that the account ever had. A balance may stay below a smaller one.
alter table credit_account add column overdraft_max bigint not null default 0;
-- The sum of the deductions, which may take the balance below zero and further.
alter table credit_account add column deducted bigint not null default 0;
-- No hold goes further: a request that would is refused, and this is what holds if the decision is ever wrong.
alter table credit_account drop constraint credit_account_balance_check;
alter table credit_account add constraint credit_account_balance_check check (balance + deducted + overdraft_max >= 0);
alter table credit_account add constraint credit_account_overdraft_max_check check (overdraft_max >= overdraft);

-- Not validated: what an earlier release wrote has one of the first four kinds, and reading all of it would take long.
alter table ledger_entry drop constraint ledger_entry_kind_check;
alter table ledger_entry add constraint ledger_entry_kind_check
  check (kind in ('topup', 'settle', 'refund', 'adjust', 'deduct', 'expiry')) not valid;

-- What was deducted for a reference, once. A table of its own, because an index of ledger_entry would have to read all of it.
create table deduction (
  project_id text not null,
  reference text not null,
  amount bigint not null check (amount > 0),
  created_at timestamptz not null default clock_timestamp(),
  primary key (project_id, reference)
);

-- The deductions in the sums of a checkpoint.
alter table ledger_checkpoint_account add column deducted bigint not null default 0;

comment on column ledger_entry.reference is 'Of a top-up and of a deduction. Of an expiry that of the top-up.';
comment on column ledger_entry.reason is
  'Of an adjustment and of a deduction: what the operator wrote. Of a refund: why; of the settlement of a chat: why the answer is not whole or cost nothing, else null. Chats have a reason of src/domain/chat/chat-end-reason.ts, tasks the code of their error.';
