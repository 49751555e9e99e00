// Whether an agent has sent a heartbeat since a verification started. A component's healthy report may be from before the repair. Only with a live
// agent does the lack of a new report mean that its probes still pass.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { agentLeaseKey } from '#api/names.ts'
import { uidOf } from '#api/schema/object-meta.ts'
import type { KubeClient } from '#kube/client.ts'
import { leaseType } from '#runtime/lease.ts'

/** The first heartbeat may have been in flight when the verification started. By the second one, every probe has run. */
const ENOUGH = 2
/** Concurrent verifications. Beyond that, the oldest starts counting from zero. */
const MOST_REMEMBERED = 1_000

interface Renewal {
  readonly renewed: string | undefined
  /** How often it changed while we watched. Its timestamp comes from another clock and proves nothing. */
  readonly changes: number
}

export class Heartbeats {
  readonly #client: Pick<KubeClient, 'get'>
  readonly #known = new Map<string, Renewal>()

  constructor(client: Pick<KubeClient, 'get'>) {
    this.#client = client
  }

  /** Reads the lease again. An unreadable lease is no heartbeat. */
  async isReporting(job: RemedyOperationJob): Promise<boolean> {
    const { machine } = job.spec
    if (machine === undefined) return false
    const name = agentLeaseKey(machine)
    const lease = await this.#client.get(leaseType, name).catch(() => undefined)
    const before = this.#known.get(uidOf(job))
    const renewed = lease?.spec?.renewTime ?? before?.renewed
    const hasRenewed = before?.renewed !== undefined && renewed !== before.renewed
    const changes = (before?.changes ?? 0) + (hasRenewed ? 1 : 0)
    this.#remember(uidOf(job), { renewed, changes })
    return changes >= ENOUGH
  }

  forget(job: RemedyOperationJob): void {
    this.#known.delete(uidOf(job))
  }

  #remember(uid: string, renewal: Renewal): void {
    this.#known.delete(uid)
    this.#known.set(uid, renewal)
    const [oldest] = this.#known.keys()
    if (this.#known.size > MOST_REMEMBERED && oldest !== undefined) this.#known.delete(oldest)
  }
}
