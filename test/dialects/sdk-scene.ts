import type { Gateway } from '../support/gateway.ts';

/** What the tests of the client libraries share with the suite. */
export interface SdkScene {
  gateway: Gateway;
  apiKey: string;
}

/** Two prompts of one conversation. The sandbox answers each with thoughts and a call, and its result with text. */
export const weatherPrompts = ['Oslo', 'Rome'].map(
  (city) => `weather in ${city}? [[thoughts=20 tool=weather args={"city":"${city}"}]]`,
);
