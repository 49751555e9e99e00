// `node src/cli/warm.ts PART…`: loads the modules of these programs, so that Node.js caches the compiled code. Runs nothing of them.
import { flushCompileCache } from 'node:module'
import { useCompileCache } from '#lib/compile-cache.ts'
import { CONTROLLERS } from '#programs/all.ts'

useCompileCache()

const PARTS: Readonly<Record<string, () => Promise<unknown>>> = {
  apiserver: () =>
    Promise.all([
      import('./program.ts'),
      import('./process-io.ts'),
      import('#programs/run-server.ts').then(({ loadServer }) => loadServer()),
    ]),
  local: () =>
    Promise.all([
      import('#programs/local/up.ts'),
      import('#lib/terminal/screen.ts'),
      import('#programs/local/status.ts'),
      import('#artifacts/authoring/pack.ts'),
      import('#runtime/until-ended.ts'),
      import('isomorphic-git'),
    ]),
  roles: () =>
    Promise.all([
      import('#programs/run/role-named.ts'),
      import('#programs/run/role.ts'),
      import('#programs/run/connect.ts'),
      import('#kube/kubeconfig.ts'),
      import('#lib/log-pino.ts'),
      import('#providers/providers-file.ts'),
      import('#providers/process/provider.ts'),
      import('#programs/run/role-connections.ts'),
      import('#programs/run/until-one-ends.ts'),
      import('#programs/run/listeners.ts'),
      import('#runtime/outbound/places.ts'),
      import('#programs/roles/controllers.ts'),
      import('#programs/roles/approver.ts'),
      import('#programs/roles/defender.ts'),
      import('#programs/roles/sync.ts'),
      import('#programs/roles/cluster.ts'),
      ...Object.values(CONTROLLERS).map(({ load }) => load()),
    ]),
}

for (const part of process.argv.slice(2)) await PARTS[part]?.()
flushCompileCache()
process.exit(0)
