/** The states of a callback. All but the first are final. `replaced`: it was sent again under a new id before it had ended. */
export const deliveryStates = ['pending', 'delivered', 'exhausted', 'gone', 'blocked', 'replaced'] as const;
export type DeliveryState = (typeof deliveryStates)[number];
