// `node src/cli/warm.ts PART…`: loads the modules of these programs, so that Node.js caches the compiled code. Runs nothing of them.
import { flushCompileCache } from 'node:module'
import { useCompileCache } from './compile-cache.ts'

useCompileCache()

const PARTS: Readonly<Record<string, () => Promise<unknown>>> = {
  apiserver: () =>
    Promise.all([
      import('./program.ts'),
      import('./io.ts'),
      import('./run/embedded-rules.ts'),
      import('#apiserver/run-api-server.ts'),
      import('#apiserver/api-server.ts'),
      import('#apiserver/auth/credentials.ts'),
      import('#apiserver/storage/sqlite.ts'),
    ]),
  local: () =>
    Promise.all([
      import('#local/up.ts'),
      import('#local/screen.ts'),
      import('#local/status.ts'),
      import('./artifact/pack.ts'),
      import('./until-ended.ts'),
      import('isomorphic-git'),
    ]),
  roles: () =>
    Promise.all([
      import('./run/roles.ts'),
      import('./run/role.ts'),
      import('./run/connect.ts'),
      import('#kube/kubeconfig.ts'),
      import('#lib/log-pino.ts'),
      import('#providers/providers-file.ts'),
      import('#providers/process/provider.ts'),
      import('./run/role-connections.ts'),
      import('./run/until-one-ends.ts'),
      import('./run/listeners.ts'),
      import('#runtime/outbound/places.ts'),
      import('#declared/followed-agent-config.ts'),
      import('#controllers/approver/reconcile.ts'),
      import('#controllers/controllers.ts'),
      import('#defender/role.ts'),
      import('#sync/role.ts'),
    ]),
}

for (const part of process.argv.slice(2)) await PARTS[part]?.()
flushCompileCache()
process.exit(0)
