import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

// Runs after `npm install`. A copy without a repository, and an image, have no hooks. A path that somebody has chosen stays.
if (existsSync('.git')) {
  const git = (...args) => spawnSync('git', ['config', '--local', ...args], { encoding: 'utf8' });
  if (git('core.hooksPath').stdout?.trim() === '') git('core.hooksPath', 'scripts/hooks');
}
