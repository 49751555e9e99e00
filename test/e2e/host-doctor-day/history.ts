// All that was written on the server during the day, in its order, so that what must hold is checked at every write and not only where the test looked.
import { defenderLedger } from '#api/kinds/defender-ledger.ts'
import { type MaintenanceEvent, maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { standsOff } from '#nodes/faults/maintenance.ts'
import type { KubeClient } from '#kube/client.ts'
import { nodeType, podType } from '#nodes/objects.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { Commit } from '#test/doubles/kube/revisions.ts'
import { sleep } from '#test/support/tools/processes.ts'
import { doctorInvariants } from '../../sim/hostdoctor/invariants.ts'
import type { World } from '../../sim/world.ts'

const WATCHED: readonly ResourceType[] = [
  maintenanceEvent,
  operationPermit,
  defenderLedger,
  remedyOperationJob,
  nodeType,
  podType,
]
const AGAIN_MS = 50

const kindOf = ({ group, plural }: ResourceType): string => `${group}/${plural}`
const keyOf = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ''}/${metadata.name ?? ''}`

interface Written {
  readonly kind: string
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: KubeObject
  readonly at: number
}

export class History {
  readonly #written: Written[] = []
  readonly #latest = new Map<string, Map<string, KubeObject>>()
  readonly #stop = new AbortController()
  readonly #now: () => number
  readonly #running: Promise<void>[]

  constructor(client: KubeClient, now: () => number) {
    this.#now = now
    this.#running = WATCHED.map((type) => this.#follow(client, type))
  }

  async #follow(client: KubeClient, type: ResourceType): Promise<void> {
    const { signal } = this.#stop
    let { resourceVersion } = await client.list(type)
    while (!signal.aborted) {
      try {
        for await (const event of client.watch(type, { resourceVersion, signal })) {
          if (event.type !== 'BOOKMARK') this.#take(kindOf(type), event.type, event.object)
          resourceVersion =
            event.type === 'BOOKMARK'
              ? event.resourceVersion
              : (event.object.metadata.resourceVersion ?? resourceVersion)
        }
      } catch (error) {
        if (!signal.aborted) console.log(String(error))
      }
      await sleep(AGAIN_MS)
    }
  }

  #take(kind: string, type: Written['type'], object: KubeObject): void {
    this.#written.push({ kind, type, object, at: this.#now() })
    put(this.#latest, kind, type, object)
  }

  all<T extends KubeObject>(type: ResourceType<T>): readonly T[] {
    return [...(this.#latest.get(kindOf(type))?.values() ?? [])] as T[]
  }

  /** Everything that went wrong at any write. */
  violations(rackOf: (machine: string) => string): readonly string[] {
    const state = new Map<string, Map<string, KubeObject>>()
    let now = 0
    const peek = (
      type: ResourceType,
      { name, namespace = '' }: { readonly name: string; readonly namespace?: string },
    ) => state.get(kindOf(type))?.get(`${namespace}/${name}`)
    const fake = { peek, all: (type: ResourceType) => [...(state.get(kindOf(type))?.values() ?? [])] }
    const world = { clock: { now: () => now }, fake } as unknown as World
    const invariants = Object.entries(doctorInvariants(rackOf))
    const revision = ({ object }: Written) => Number(object.metadata.resourceVersion)
    return this.#written
      .toSorted((a, b) => revision(a) - revision(b))
      .flatMap((written) => {
        const { kind, type, object, at } = written
        now = Math.max(now, at)
        put(state, kind, type, object)
        const commit = { kind, type, object, key: keyOf(object), revision: revision(written) } as unknown as Commit
        const broken =
          type === 'DELETED'
            ? []
            : invariants.flatMap(([name, holds]) => {
                const wrong = holds(commit, world)
                return wrong === undefined ? [] : [`${name}: ${wrong}`]
              })
        return [
          ...broken,
          ...repairedMeanwhile(written, fake.all(maintenanceEvent) as unknown as readonly MaintenanceEvent[]),
        ]
      })
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#running)
  }
}

function put(
  state: Map<string, Map<string, KubeObject>>,
  kind: string,
  type: Written['type'],
  object: KubeObject,
): void {
  const known = state.get(kind) ?? new Map<string, KubeObject>()
  if (type === 'DELETED') known.delete(keyOf(object))
  else known.set(keyOf(object), object)
  state.set(kind, known)
}

/** The cause of what a node shows is known while work on its host is open: no repair of it is begun. */
function repairedMeanwhile({ kind, type, object }: Written, events: readonly MaintenanceEvent[]): readonly string[] {
  if (kind !== kindOf(remedyOperationJob) || type !== 'ADDED') return []
  const { machine } = (object as RemedyOperationJob).spec
  return events
    .filter((e) => e.spec.machine === machine && standsOff(e))
    .map((e) => `repair: ${object.metadata.name} is begun while ${e.spec.eventId} is ${e.status?.phase}`)
}
