import { describe, expect, it } from '@jest/globals';
import { channelStates } from '../../../src/domain/channels/health-states.ts';

describe('channelStates', () => {
  it('tells a cool-down, a trip, a probe, an unlisted model and an alarm apart', () => {
    const states = channelStates(
      {
        unavailableUntil: { '*': 200, tripped: 200, over: 50 },
        trippedModels: ['tripped', 'probing'],
        notDrawn: { gone: 'unlisted' },
        alarms: { gone: 'unlisted' },
      },
      100,
    );
    expect(states).toEqual([
      { model: 'tripped', state: 'tripped' },
      { model: 'probing', state: 'probing' },
      { model: '*', state: 'cooling_down' },
      { model: 'gone', state: 'not_drawn' },
      { model: 'gone', state: 'alarm' },
    ]);
  });
});
