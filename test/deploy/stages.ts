import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { basename, dirname, join, normalize, relative } from 'node:path';
import { projectFolder } from '../support/program.ts';
import { dockerfile, read } from './compose-file.ts';
import { copiesOf, stageNames } from './image.ts';

/** The names of the stages of the Dockerfile; the last one, which is the image, has none. */
export const stages = dockerfile.map((stage) => stageNames(stage).name);

const stageOf = (name: string) => {
  const found = dockerfile.find((stage) => stageNames(stage).name === name);
  if (!found) throw new Error(`The Dockerfile has no stage ${name}`);
  return found;
};

/**
 * Fills a folder as the stage fills /app, with what its COPY lines and those of the stages that it begins with take from the project
 * folder. What comes from another stage is left out; `fromOtherStages` has it.
 */
export function fillStage(name: string, folder: string): void {
  const { from } = stageNames(stageOf(name));
  if (stages.includes(from)) fillStage(from, folder);
  for (const { from: other, paths, target } of copiesOf(stageOf(name))) {
    if (other !== null) continue;
    for (const path of paths) {
      const source = join(projectFolder, path);
      // Docker copies what a folder contains, and a file into a target that ends with a slash.
      const isInto = target.endsWith('/') && !statSync(source).isDirectory();
      cpSync(source, join(folder, target, isInto ? basename(path) : ''), { recursive: true, filter: isSent });
    }
  }
}

/** The paths that the stage takes from other stages. */
export const fromOtherStages = (name: string): string[] =>
  copiesOf(stageOf(name))
    .filter(({ from }) => from !== null)
    .map(({ target }) => normalize(target));

/** The programs of ours that the stage runs; the image also those of docker-compose.yml and of the chart. */
export function programsOf(name: string): string[] {
  const steps = stageOf(name).filter(({ word }) => ['RUN', 'HEALTHCHECK', 'CMD'].includes(word));
  const deployed = ['docker-compose.yml', ...['api', 'worker', 'migrate'].map((each) => `${templates}/${each}.yaml`)];
  const texts = [...steps.map(({ rest }) => rest), ...(name === '' ? deployed.map(read) : [])];
  return [...new Set(texts.flatMap((text) => text.match(/\b(?:src|bin|scripts)\/[\w/-]+\.(?:mjs|ts)\b/g) ?? []))];
}

const templates = 'deploy/helm/tollgate/templates';

/** .dockerignore keeps it back. */
const isSent = (path: string): boolean => relative(projectFolder, path) !== 'console/dist';

/** Links the packages of the project into a folder that is its own, so that a build can write beside them. */
export function linkPackages(folder: string): void {
  const packages = join(projectFolder, 'node_modules');
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  for (const name of readdirSync(packages)) {
    // The caches of builds are not packages.
    if (!/^\.(cache|vite)/.test(name)) symlinkSync(join(packages, name), join(folder, 'node_modules', name));
  }
}

const specifiers =
  /\b(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']*)'|\bnew URL\(\s*'(\.{1,2}(?:\/[^']*)?|[\w-]+\.\w+)',\s*import\.meta\.url\)/g;

/** The files and folders below `root` that a file of it names, by their paths from `root`: imports, and URLs beside itself. */
export const namedBy = (root: string, file: string): string[] =>
  [...readFileSync(join(root, file), 'utf8').matchAll(specifiers)].map(([, imported, located]) =>
    normalize(join(dirname(file), imported ?? located ?? '')),
  );

/** Every file with code below `root`, packages apart, by its path from `root`. */
export const codeBelow = (root: string): string[] =>
  readdirSync(root, { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules' && existsSync(join(root, name)))
    .flatMap((entry) =>
      entry.isDirectory()
        ? readdirSync(join(root, entry.name), { recursive: true, encoding: 'utf8' }).map((name) =>
            join(entry.name, name),
          )
        : [entry.name],
    )
    .filter((name) => /\.(tsx?|mjs)$/.test(name) && !name.endsWith('.d.mts'))
    .sort();
