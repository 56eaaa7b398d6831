import { mediaRoutes } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import type { Gateway, TestProject } from '../support/gateway.ts';
import { answer, startReceiver, takeIt, type Receiver } from '../commands/callbacks/receiver.ts';

/** One callback: the milliseconds from the end of its task to its first try, and from that to its second try. */
export interface CallbackTimes {
  first: number;
  retry: number;
}

/** A wait of one second between the tries, and a receiver that hangs holds a call for a minute. */
export const slowCallbacks = {
  CALLBACK_TIMEOUT_SECONDS: '60',
  CALLBACK_LEASE_SECONDS: '90',
  CALLBACK_LADDER_SECONDS: '1,1,1,1,1,1,1',
};

/**
 * The times of `samples` callbacks of one project, before and while another project has `attackers` callbacks for a receiver that
 * never answers. `held` is the number of calls that this receiver got.
 */
export async function callbacksUnderAttack(
  gateway: Gateway,
  { attackers, samples }: { attackers: number; samples: number },
): Promise<{ calm: CallbackTimes[]; attacked: CallbackTimes[]; held: number }> {
  const [hanging, quick] = await Promise.all([startReceiver(), startReceiver()]);
  try {
    const [attacker, victim] = [
      await gateway.project({ credits: 100_000 }),
      await gateway.project({ credits: 10_000 }),
    ];
    const measure = async (name: string): Promise<CallbackTimes[]> => {
      const times: CallbackTimes[] = [];
      for (let n = 0; n < samples; n++) times.push(await timeOne(gateway, victim, quick, `${name}-${n}`));
      return times;
    };
    const calm = await measure('calm');
    const url = hanging.at('never', () => undefined);
    let left = attackers;
    const lane = async (): Promise<void> => {
      while (left-- > 0) await gateway.poll(attacker.apiKey, await create(gateway, attacker, url));
    };
    await Promise.all(Array.from({ length: 20 }, lane));
    await eventually(() => Promise.resolve(hanging.calls('never').length > 0));
    return { calm, attacked: await measure('attacked'), held: hanging.calls('never').length };
  } finally {
    await Promise.all([hanging.close(), quick.close()]);
  }
}

async function timeOne(gateway: Gateway, owner: TestProject, receiver: Receiver, name: string): Promise<CallbackTimes> {
  const at: number[] = [];
  const url = receiver.at(name, (response, n, request) => {
    at.push(performance.now());
    (n === 1 ? answer(500) : takeIt)(response, n, request);
  });
  await gateway.poll(owner.apiKey, await create(gateway, owner, url));
  const endedAt = performance.now();
  await eventually(() => Promise.resolve(at.length === 2), { secondsMax: 60 });
  const [first = 0, second = 0] = at;
  return { first: first - endedAt, retry: second - first };
}

const create = (gateway: Gateway, { apiKey }: TestProject, callback_url: string): Promise<string> =>
  gateway.accept(apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt: 'a red fox', callback_url });
