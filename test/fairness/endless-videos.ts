import { setTimeout as sleep } from 'node:timers/promises';
import { hasEnded, mediaRoutes } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import type { Gateway, TestProject } from '../support/gateway.ts';

/** The times of pictures, in milliseconds from the create to the end that its client sees, shortest first. */
export type PictureTimes = number[];

export interface Beside {
  quiet: PictureTimes;
  attacked: PictureTimes;
  /** Jobs of the endless videos that held a place of the worker while the pictures were made. */
  holding: number;
}

/**
 * The times of some pictures of one project, before and while another project has `videos` videos that never end. All of these are
 * parked when the second measurement begins.
 */
export async function picturesBesideEndlessVideos(
  gateway: Gateway,
  { videos, pictures }: { videos: number; pictures: number },
): Promise<Beside> {
  const attacker = await gateway.project({ credits: 1_000_000 });
  const victim = await gateway.project({ credits: 10_000 });
  // Once unmeasured, because the first workflow of a worker is slow.
  await makePictures(gateway, victim, 10);
  const quiet = await makePictures(gateway, victim, pictures);
  await createEndless(gateway, attacker, videos);
  await eventually(async () => (await countProviderJobs(gateway, attacker, 'next_poll_at is not null')) === videos, {
    secondsMax: 60 + videos,
    what: 'parked videos',
  });
  const attacked = await makePictures(gateway, victim, pictures);
  return { quiet, attacked, holding: await countProviderJobs(gateway, attacker, 'next_poll_at is null') };
}

/** Makes pictures one after the other in ten lanes, as a client with a few users does. */
async function makePictures(gateway: Gateway, { apiKey }: TestProject, count: number): Promise<PictureTimes> {
  const times: PictureTimes = [];
  let left = count;
  const lane = async (): Promise<void> => {
    while (left-- > 0) {
      const began = performance.now();
      const body = { model: 'aurora-image-1', prompt: 'a red fox [[latency=500]]' };
      const taskId = await gateway.accept(apiKey, mediaRoutes.image, body);
      const task = await gateway.poll(apiKey, taskId, { until: hasEnded });
      if (task.status !== 'succeeded') throw new Error(`a picture ended as ${task.status}`);
      times.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: 10 }, lane));
  return times.sort((a, b) => a - b);
}

async function createEndless(gateway: Gateway, { apiKey }: TestProject, count: number): Promise<void> {
  let left = count;
  const lane = async (): Promise<void> => {
    while (left-- > 0) {
      const body = { model: 'kling-2.5-turbo', prompt: 'a dancer [[fail=never]]' };
      // A burst that Temporal cannot start in time is refused for a moment.
      while ((await gateway.create(apiKey, mediaRoutes.video, body)).status !== 202) await sleep(1_000);
    }
  };
  await Promise.all(Array.from({ length: 16 }, lane));
}

export async function countProviderJobs(
  gateway: Gateway,
  { projectId }: TestProject,
  condition: string,
): Promise<number> {
  const [row] = await gateway.database.query<{ n: number }>(
    '',
    `select count(*) as n from attempt a join task t on t.id = a.request_id
     where t.project_id = $1 and a.outcome is null and a.${condition}`,
    [projectId],
  );
  return row?.n ?? 0;
}
