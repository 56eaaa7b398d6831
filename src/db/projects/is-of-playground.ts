/** SQL: whether the key `k` is one of the playground: no operator and no client changes its limits or its secret. */
export const isOfPlayground = '(select exists (select from playground_key p where p.key_id = k.id))';
