import { z } from 'zod';

// Schemas of ids, each with an example of its prefix.

const idOf = (prefix: string) => z.string().meta({ examples: [`${prefix}_01ky4m8r5t0v2x6z9b3d7f1h4k`] });

export const projectId = idOf('prj');
export const keyId = idOf('key');
export const taskId = idOf('task');
export const channelId = idOf('chn');
export const requestId = idOf('req');
export const runId = idOf('run');
export const tokenId = idOf('atk');
export const operatorId = idOf('opr');
export const silenceId = idOf('sil');
export const planId = idOf('pln');
