/** The rooms of docs/ARCHITECTURE.md: which may see which. Run by `npm run arch`. */
const room = (name, ...sees) => ({
  name: `${name}-sees-only-${sees.join('-') || 'itself'}`,
  severity: 'error',
  from: { path: `^src/${name}/` },
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
    room('domain'),
    room('platform', 'domain'),
    room('channels', 'domain', 'platform'),
    room('db', 'domain'),
    room('commands', 'domain', 'db', 'channels', 'platform', 'deps', 'config'),
    room('activities', 'domain', 'commands', 'deps', 'config'),
    room('workflows', 'domain', 'activities'),
    room('http', 'domain', 'commands', 'platform', 'deps', 'config'),
    room('sandbox', 'domain', 'platform'),
    typesOnly('workflows', 'activities'),
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
      name: 'pure-rooms-touch-no-node-core',
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
        path: '^src/(domain|db|commands|activities|workflows|http|channels|platform)/',
        pathNot: '^src/(http/server|channels/call-upstream|platform/(egress|public-address|resolve-name))[.]ts$',
      },
      to: { path: '(^|/)(undici|http|https|net|tls|dns)(/|$)', pathNot: '^src/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
  ],
  options: {
    tsPreCompilationDeps: 'specify',
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
  },
};
