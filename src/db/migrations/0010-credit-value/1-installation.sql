-- What is true of the whole installation, in one row that `migrate` writes. A former release does not read it.
create table installation (
  is_only boolean primary key default true check (is_only),
  -- Millionths of a US dollar. Balances and prices are in credits, so another value would change what they are worth.
  credit_value_micro_usd bigint not null check (credit_value_micro_usd >= 0)
);
