# One image for the API, the worker and the migrations; docs/PRODUCTION.md says how it is run.
# The gateway has no build step: Node 24 runs the TypeScript sources. The console is built once. The tag is the Node that the tests run on (package.json).

FROM node:24.21.0-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
COPY scripts/check-install.mjs ./scripts/
# `npm ci` refuses a lock file that lacks other systems' optional packages (docs/DECISIONS.md, record 63). The check fails the
# build unless every installed package has the version and the hash of the lock file. No package's own scripts run: none that
# production uses needs them.
RUN npm install --no-save --omit=dev --ignore-scripts --no-audit --no-fund && node scripts/check-install.mjs

FROM packages AS workflows
COPY src ./src
# Kept below node_modules/.cache: a worker with a read-only root finds it there and starts at once.
RUN ["node", "src/main/bundle-workflows.ts"]

# The packages that build the console do not enter the image.
FROM packages AS console
RUN npm install --no-save --include=dev --ignore-scripts --no-audit --no-fund && node scripts/check-install.mjs
COPY scripts ./scripts
COPY console ./console
# All of `src` that the console may import (.dependency-cruiser.cjs).
COPY src/domain ./src/domain
COPY src/schemas ./src/schemas
RUN node scripts/build-console.mjs

FROM node:24.21.0-bookworm-slim
WORKDIR /app
# HOST: a container is reached from outside. The two admin ports may be one, for no container runs both processes.
ENV HOST=0.0.0.0 \
    PORT=8080 \
    ADMIN_PORT=9090 \
    WORKER_HEALTH_PORT=9090 \
    FILES_LOCAL_DIR=/var/lib/tollgate/files
# A fresh volume takes over this owner. Everything else belongs to root and is only read.
RUN install --directory --owner=node --group=node --mode=0700 /var/lib/tollgate \
 && ln --symbolic /app/bin/tollgate.mjs /usr/local/bin/tollgate
COPY --from=workflows /app/node_modules ./node_modules
COPY package.json package-lock.json ./
COPY --from=console /app/console/dist ./console/dist
COPY bin ./bin
COPY catalog ./catalog
COPY src ./src
# The image's user `node`, as numbers, by which orchestrators can tell that it is not root.
USER 1000:1000
VOLUME /var/lib/tollgate
EXPOSE 8080 9090
STOPSIGNAL SIGTERM
# Liveness, not readiness: where unhealthy means restarted, an outage of the database must not restart everything.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "src/main/probe.ts", "http://127.0.0.1:9090/livez"]
CMD ["node", "--max-old-space-size=1024", "--max-semi-space-size=32", "src/main/api.ts"]
