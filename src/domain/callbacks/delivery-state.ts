/** The states of a callback. All but the first are final. */
export const deliveryStates = ['pending', 'delivered', 'exhausted', 'gone', 'blocked'] as const;
export type DeliveryState = (typeof deliveryStates)[number];
