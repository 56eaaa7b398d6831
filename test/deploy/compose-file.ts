import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from '../support/program.ts';
import { z } from 'zod';
import { parse } from 'yaml';
import { parseDockerfile } from './image.ts';

export const read = (path: string): string => readFileSync(join(projectFolder, path), 'utf8');

export const Strings = z.record(z.string(), z.string());

const Compose = z.object({
  services: z.record(
    z.string(),
    z.object({
      image: z.string(),
      profiles: z.array(z.string()).default([]),
      build: z.string().optional(),
      init: z.boolean().optional(),
      command: z.array(z.string()).optional(),
      entrypoint: z.array(z.string()).optional(),
      environment: Strings.default({}),
      env_file: z.array(z.object({ path: z.string(), required: z.literal(false) })).default([]),
      depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
      healthcheck: z.object({ test: z.array(z.string()).optional(), disable: z.boolean().optional() }).optional(),
      restart: z.string(),
      read_only: z.boolean().default(false),
      tmpfs: z.array(z.string()).default([]),
      cap_drop: z.array(z.string()),
      cap_add: z.array(z.string()).default([]),
      security_opt: z.array(z.string()),
      ports: z.array(z.string()).default([]),
      networks: z.array(z.string()),
      volumes: z.array(z.string()).default([]),
      stop_grace_period: z.string().optional(),
    }),
  ),
  networks: z.record(z.string(), z.object({ internal: z.boolean().optional() })),
  volumes: z.record(z.string(), z.unknown()),
});

export const compose = Compose.parse(parse(read('docker-compose.yml'), { merge: true }));

export const dockerfile = parseDockerfile(read('Dockerfile'));

export const final = dockerfile.at(-1) ?? [];

export const words = (word: string) => final.filter((line) => line.word === word).map(({ rest }) => rest);

export const only = (word: string): string => words(word).join('\n');

export const service = (name: string) => {
  const found = compose.services[name];
  if (!found) throw new Error(`docker-compose.yml has no service ${name}`);
  return found;
};

export const ours = ['migrate', 'api', 'api-2', 'worker'];

/** One of each. */
export const programs = ['api', 'worker'];

export const imageEnv = Object.fromEntries(
  [...only('ENV').matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
);

/** The paths that the last stage copies from the project folder. */
export const copied = (): string[] =>
  words('COPY')
    .filter((rest) => !rest.startsWith('--from'))
    .flatMap((rest) => rest.split(' ').slice(0, -1))
    .map((name) => name.replace(/^\.\//, ''));
