import { z } from 'zod';
import { deliveryStates } from '../domain/callbacks/delivery-state.ts';
import { listOf } from './list.ts';
import { timestamp, timestampOrNull } from './time.ts';

/** A callback of a task. */
export const Delivery = z
  .object({
    delivery_id: z.string(),
    object: z.literal('delivery'),
    event_id: z.string().describe('The `webhook-id`, the same for all tries.'),
    state: z.enum(deliveryStates),
    attempts: z.int(),
    last_status: z.int().nullable(),
    created_at: timestamp,
    ended_at: timestampOrNull,
    next_attempt_at: timestampOrNull,
    tries: z
      .array(
        z.object({
          n: z.int(),
          started_at: timestamp,
          ended_at: timestampOrNull,
          status: z.int().nullable().describe("The receiver's HTTP status, if it answered."),
          error: z.string().nullable().describe('The class of the failure.'),
        }),
      )
      .describe('Kept for 30 days.'),
  })
  .meta({ id: 'Delivery' });
export type PublicDelivery = z.input<typeof Delivery>;

export const DeliveryList = listOf(Delivery).meta({ id: 'DeliveryList' });
