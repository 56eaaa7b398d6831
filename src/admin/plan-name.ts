import { shortText } from './input.ts';

/** The name of a plan. It is part of addresses, and `none` is no plan. */
export const planName = shortText
  .refine(
    (name) => /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,62}$/u.test(name),
    'must be letters, digits, spaces, ".", "_" and "-", at most 63',
  )
  .refine((name) => name.toLowerCase() !== 'none', 'must not be none');
