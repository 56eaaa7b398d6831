import { mediaRoutes } from './api-client.ts';
import { eventually } from './eventually.ts';
import type { Gateway } from './gateway.ts';

/**
 * Creates images until `isCalled`, for a test that has changed where the channels of a running gateway lead: its worker caches the
 * channels for up to two seconds.
 */
export async function untilCalled(gateway: Gateway, isCalled: () => boolean): Promise<void> {
  const { apiKey } = await gateway.project();
  await eventually(async () => {
    const image = { model: 'aurora-image-1', prompt: 'a fox [[latency=0]]' };
    await gateway.poll(apiKey, await gateway.accept(apiKey, mediaRoutes.image, image));
    return isCalled();
  });
}
