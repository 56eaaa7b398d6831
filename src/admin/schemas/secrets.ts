import { z } from 'zod';

const count = z.object({
  resealed: z.int(),
  current: z.int().describe('These had the first key already.'),
  unreadable: z.array(z.string()).describe('The ids of those that no configured key decrypts.'),
});

export const ResealedSecrets = z
  .object({ channel_credential: count, callback_secret: count, callback_secret_previous: count })
  .meta({ id: 'ResealedSecrets' });
