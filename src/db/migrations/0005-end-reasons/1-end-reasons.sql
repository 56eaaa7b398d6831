-- The column is older than the reasons of ends.
comment on column ledger_entry.reason is
  'Of an adjustment: what the operator wrote. Of a refund: why; of the settlement of a chat: why the answer is not whole or cost nothing, else null. Chats have a reason of src/domain/chat-end-reason.ts, tasks the code of their error.';
