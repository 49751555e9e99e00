// A region of AWS that the programs call over HTTP. It verifies their signatures, counts calls as the vendor does, loses replies, shows new hosts late, and notes at
// once when a Machine has two hosts. What runs on its hosts is an agent without a machine.
import { HollowFleet } from '#agent/hollow/fleet.ts'
import type { KubeClient } from '#kube/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import type { FakeRequest, Handler } from '#test/doubles/clouds/answers.ts'
import { serveStamped, type StampedServer } from '#test/doubles/clouds/arrivals.ts'
import type { FakeInstance, FakeLimit, FakeRegion } from '#test/doubles/clouds/region.ts'
import { fakeRegion, VENDORS } from '#test/doubles/clouds/worlds.ts'

const [, AWS] = VENDORS
const MACHINE = 'kubenode.io/machine'
const UID = 'kubenode.io/machine-uid'
const PENDING_MS = 3_000
const DELETING_MS = 3_000
const LATE_MS = 4_000
const LOOK_MS = 200
const LEASE_MS = 5_000

/** What the vendor describes for an account without raised quotas. */
function limitOf(action: string): FakeLimit {
  if (action.startsWith('Describe')) return { kind: 'Bucket', perSecond: 20, burst: 100 }
  if (action === 'RunInstances') return { kind: 'Bucket', perSecond: 2, burst: 5 }
  return { kind: 'Bucket', perSecond: 5, burst: 50 }
}

export class Cloud {
  readonly vendor = AWS
  readonly region: FakeRegion
  /** What must not happen, and did. */
  readonly violations: string[] = []
  /** Ids of hosts whose deletion was asked for. */
  readonly deleted = new Set<string>()
  lostReplies = 0
  /** Called for each host that is made, before its answer is sent. */
  onHost: (made: number) => void = () => undefined
  #server: StampedServer | undefined
  #looking: NodeJS.Timeout | undefined
  readonly #booted = new Set<string>()

  constructor(seed: number, lostReplies: number) {
    const options = { clock: systemClock, limitOf, pendingMs: PENDING_MS, deletingMs: DELETING_MS }
    this.region = fakeRegion(AWS, options, seed)
    Object.assign(this.region.faults, { visibleAfterMs: LATE_MS, lostReplies, serverErrors: 0.02 })
  }

  /** The longest time that a call waited for the region, which shares its thread with all agents. */
  get heldBackMs(): number {
    return this.#server?.heldBackMs() ?? 0
  }

  get url(): string {
    if (this.#server === undefined) throw new Error('the cloud is not served yet')
    return this.#server.url
  }

  /** The most hosts of the first zone; then it has none of the type. */
  async serve(mostInFirstZone: number): Promise<void> {
    const { region } = this
    const [first] = AWS.zones
    const handler = AWS.fake(region)
    const checked: Handler = (request) => {
      const here = region.alive().filter((i) => i.zone === first).length
      const key = `${first}/${AWS.type}`
      if (here >= mostInFirstZone) region.faults.noStock.add(key)
      const made = region.instances.size
      const answer = handler(request)
      if (answer === 'Lost') this.lostReplies++
      if (region.instances.size > made) this.onHost(region.instances.size)
      this.#judge(request)
      return answer
    }
    this.#server = await serveStamped(checked)
  }

  #judge({ body }: FakeRequest): void {
    const params = new URLSearchParams(body)
    if (params.get('Action') === 'TerminateInstances') this.deleted.add(params.get('InstanceId.1') ?? '')
    if (params.get('Action') !== 'RunInstances') return
    const owners = this.region.alive().map(ownerOf)
    for (const owner of owners.filter((o, i) => owners.indexOf(o) !== i))
      this.violations.push(`machine ${owner} has two hosts`)
  }

  /** The host starts, and its agent joins; it ends with its host. */
  runAgents(client: KubeClient): { stop(): Promise<void> } {
    const random = seededRandom(5)
    const fleet = new HollowFleet({
      client,
      clock: systemClock,
      random,
      log: silentLogger,
      version: '0.0.0',
      leaseMs: LEASE_MS,
    })
    const stop = new AbortController()
    const running = fleet.run(stop.signal)
    this.#looking = setInterval(() => this.#boot(fleet), LOOK_MS)
    return {
      stop: async () => {
        clearInterval(this.#looking)
        stop.abort()
        await running
      },
    }
  }

  #boot(fleet: HollowFleet): void {
    const up = this.region.alive().filter((i) => i.state === 'running')
    const names = new Set(up.map(nameOf))
    for (const name of this.#booted)
      if (!names.has(name)) {
        this.#booted.delete(name)
        void fleet.remove(name)
      }
    for (const instance of up) {
      const name = nameOf(instance)
      if (this.#booted.has(name)) continue
      this.#booted.add(name)
      fleet.add(name, instance.id, { uid: ownerOf(instance) })
    }
  }

  /** The vendor takes a spot host back; answers the uid of its Machine. */
  reclaim(): string {
    const host = this.region.alive().find((i) => i.isSpot)
    if (host === undefined) throw new Error('there is no spot host')
    host.isReclaimed = true
    this.region.end(host)
    return ownerOf(host)
  }

  /** From now on nothing fails. */
  calm(): void {
    Object.assign(this.region.faults, { lostReplies: 0, serverErrors: 0, breaksOnPage: undefined })
  }

  async close(): Promise<void> {
    clearInterval(this.#looking)
    await this.#server?.close()
  }
}

export const ownerOf = (i: FakeInstance): string => i.tags.get(UID) ?? ''
const nameOf = (i: FakeInstance): string => i.tags.get(MACHINE) ?? ''
