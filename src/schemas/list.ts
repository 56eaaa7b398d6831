import { z } from 'zod';

/** One page of a list. */
export const listOf = <Item extends z.ZodType>(item: Item) =>
  z.object({
    object: z.literal('list'),
    data: z.array(item),
    has_more: z.boolean(),
    next_cursor: z.string().nullable().describe('Send it as `after` to read the next page.'),
  });
export type ListOf<Item> = z.input<ReturnType<typeof listOf<z.ZodType<unknown, Item>>>>;
