// The approver beside controllers under test: with a client, caches and loops of its own, as in production.
import { type ApproverContext, approverModule } from '#controllers/approver/reconcile.ts'
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { asLeader } from './as-leader.ts'
import { createInformers } from '#runtime/informers.ts'
import type { Part } from '#runtime/manager.ts'
import { createMetrics } from '#runtime/metrics.ts'

interface Tools {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

export type ApproverOptions = Pick<ApproverContext, 'identity' | 'rhythm'>

const STOP_MS = 1_000

/** Runs already; stopped as other parts are. The client is the approver's own. */
export async function startApprover(
  client: KubeClient,
  { clock, random, log }: Tools,
  more: ApproverOptions = {},
): Promise<Part> {
  const informers = createInformers({ client, clock, random, log, startSpreadMs: 0 })
  const events = { record: () => undefined, flush: async () => undefined }
  const metrics = createMetrics()
  const fenced = asLeader(client)
  const { controllers } = approverModule.setup({
    client: fenced,
    informers,
    clock,
    random,
    log,
    metrics,
    events,
    ...more,
  })
  for (const c of controllers) c.start()
  informers.start()
  await informers.synced()
  return {
    name: 'approver',
    start: () => undefined,
    stop: async () => {
      for (const c of controllers) await c.stop(STOP_MS)
      await informers.stop()
    },
  }
}
