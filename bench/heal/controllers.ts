// The two controllers as they run in production, over HTTP, with their writes counted and their plans watched.
import type { ControllerContext } from '#controllers/module.ts'
import { freshJobs } from '#controllers/remedy/repairs/ledger.ts'
import type { RemedyPlan } from '#controllers/remedy/actions.ts'
import { plan } from '#controllers/remedy/plan.ts'
import { remedyModuleOf } from '#controllers/remedy/reconcile.ts'
import type { Seen } from '#controllers/remedy/seen.ts'
import { remedyJobModule } from '#controllers/remedyjob/reconcile.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { systemClock } from '#lib/system-clock.ts'
import { isObject } from '#lib/json.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'

const WRITES: ReadonlySet<PropertyKey> = new Set(['create', 'update', 'patch', 'apply', 'delete'])
const READS: ReadonlySet<PropertyKey> = new Set(['get', 'list'])

export interface RunningControllers {
  readonly writes: () => number
  /** What was asked of the server so far, by verb and kind. */
  readonly requests: () => Readonly<Record<string, number>>
  /** When the caches were complete, on the clock of `performance.now`. */
  readonly syncedAt: number
  stop(): Promise<void>
}

export async function startControllers(
  connection: ConnectionConfig,
  planned: (seen: Seen, plan: RemedyPlan) => void = () => undefined,
): Promise<RunningControllers> {
  const plain = new HttpKubeClient({
    ...connection,
    impersonate: { user: 'kubenode:controllers', groups: ['system:authenticated'] },
  })
  let writes = 0
  const requests: Record<string, number> = {}
  const client = new Proxy<KubeClient>(plain, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (!WRITES.has(name) && !READS.has(name)) return value.bind(target) as unknown
      return (...args: readonly unknown[]) => {
        const what = `${String(name)} ${isObject(args[0]) ? String(args[0]['kind']) : ''}`
        requests[what] = (requests[what] ?? 0) + 1
        // A rule writes its counts once for all its nodes, however many there are.
        if (WRITES.has(name) && (!isObject(args[0]) || args[0]['kind'] !== nodeRemedier.kind)) writes++
        return value.apply(target, args) as unknown
      }
    },
  })
  const tools = { clock: systemClock, random: systemRandom, log: silentLogger, metrics: createMetrics() }
  const informers = createInformers({ client: plain, ...tools, startSpreadMs: 0 })
  const context: ControllerContext = {
    client,
    informers,
    ...tools,
    events: { record: () => undefined, flush: async () => undefined },
    config: {
      cluster: 'bench',
      providers: {},
      join: { server: connection.server, caData: '', artifactBase: '', trust: { sequence: 1, threshold: 1, keys: [] } },
    },
  }
  const watched = remedyModuleOf({
    freshJobs,
    plan: (seen, now) => {
      const made = plan(seen, now)
      planned(seen, made)
      return made
    },
  })
  const controllers = [watched, remedyJobModule].flatMap((m) => m.setup(context).controllers)
  informers.start()
  await informers.synced()
  const syncedAt = performance.now()
  for (const c of controllers) c.start()
  return {
    writes: () => writes,
    requests: () => requests,
    syncedAt,
    stop: async () => {
      await Promise.all(controllers.map((c) => c.stop(5_000)))
      await informers.stop()
      plain.close()
    },
  }
}
