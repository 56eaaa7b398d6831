-- The fewest tokens that may be charged for what the client of a chat received, counted where it was handed over. Nothing is computed from
-- it: it is there to be compared with output_tokens. Null for everything else, and for what an earlier release wrote.
alter table ledger_entry add column delivered_tokens int;
