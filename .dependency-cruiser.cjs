/** The layers of docs/ARCHITECTURE.md: which may import which. Run by `npm run check`. */
const layer = (name, ...sees) => ({
  name: `${name}-sees-only-${sees.join('-') || 'itself'}`,
  severity: 'error',
  from: { path: `^src/${name}(/|[.]ts$)` },
  to: { path: '^src/', pathNot: `^src/(${[name, ...sees].join('|')})(/|[.]ts$)` },
});
const typesOnly = (from, to) => ({
  name: `${from}-takes-only-types-from-${to}`,
  severity: 'error',
  from: { path: `^src/${from}/` },
  to: { path: `^src/${to}/`, dependencyTypesNot: ['type-only'] },
});

module.exports = {
  forbidden: [
    layer('domain'),
    // What both APIs answer.
    layer('answers', 'domain'),
    layer('platform', 'domain'),
    layer('channels', 'domain', 'platform'),
    layer('db', 'domain'),
    layer('config', 'platform'),
    layer('caches', 'domain', 'db', 'platform', 'config'),
    // The types of what main builds; it imports from the layers below it and nothing above.
    layer('deps', 'domain', 'db', 'channels', 'platform', 'caches', 'config'),
    layer('commands', 'domain', 'answers', 'db', 'channels', 'platform', 'caches', 'deps', 'config'),
    layer('activities', 'domain', 'commands', 'deps', 'config'),
    layer('workflows', 'domain', 'activities'),
    // What operators can do, for the command line and the admin API.
    layer('verbs', 'domain', 'answers', 'db', 'channels', 'platform', 'caches', 'deps', 'config', 'commands'),
    layer('http', 'domain', 'answers', 'commands', 'verbs', 'caches', 'platform', 'deps', 'config'),
    layer('sandbox', 'domain', 'platform'),
    typesOnly('workflows', 'activities'),
    typesOnly('http', 'caches'),
    {
      name: 'nothing-imports-main',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/main/' },
      to: { path: '^src/main/' },
    },
    {
      name: 'deps-holds-only-types',
      severity: 'error',
      from: { path: '^src/deps[.]ts$' },
      to: { dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'pure-layers-touch-no-node-core',
      severity: 'error',
      from: { path: '^src/(domain|workflows)/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'domain-uses-no-package',
      severity: 'error',
      from: { path: '^src/domain/' },
      to: { path: 'node_modules/' },
    },
    {
      name: 'one-way-out-of-the-house',
      severity: 'error',
      comment: 'Outbound sockets are opened by the egress guard, the upstream caller and the servers in main only.',
      from: {
        path: '^src/(domain|db|caches|commands|activities|workflows|http|channels|platform)/',
        pathNot: '^src/(http/server|channels/call-upstream|platform/egress/[^/]+)[.]ts$',
      },
      to: { path: '(^|/)(undici|http|https|net|tls|dns)(/|$)', pathNot: '^src/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
  ],
  options: {
    tsPreCompilationDeps: 'specify',
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
  },
};
