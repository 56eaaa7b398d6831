import type { Browser } from 'playwright-core';
import type { Role } from '../../src/domain/operators/role.ts';
import type { Gateway } from '../support/gateway.ts';
import type { AdminClient } from './admin-client.ts';
import type { Stage } from './stage.ts';
import type { Visit } from './visit.ts';

/** What the walks share: one gateway, one browser, and its owner at the console. */
export interface Scene {
  visit: Visit;
  gateway: Gateway;
  admin: AdminClient;
  stage: Stage;
  browser: Browser;
  /** The admin token of the owner. */
  token: string;
  tokenOf: (role: Role, name: string) => Promise<string>;
}

/** Something that a person does in the console. */
export interface Walk {
  promise: string;
  /** Does it with mouse and keys, keeps pictures on the way, and compares what the gateway says afterwards. */
  walk: (scene: Scene) => Promise<void>;
}

/** A walk that calls these actions, by their commands. */
export interface Action extends Walk {
  actions: readonly string[];
}

/** Something that a person does every day, from the overview to its end, without a typed address. */
export interface EverydayWalk extends Action {
  /** The most presses of the mouse. Typing in a field is none. */
  clicksMax: number;
  /** Makes what the job is about. What it returns compares what the gateway says when the job is done. */
  prepare?: (scene: Scene) => Promise<() => Promise<void>>;
}
