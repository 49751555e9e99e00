// Decides which targets of a permit that claims to be a recovery really return to a healthy version: on the requesting set, from the records of its
// revisions, or on the machine itself, from its status. The definition is compared by digest. Nothing in the permit is trusted.
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { renderedConfig } from '#api/kinds/component-config.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { Disruption, OperationPermit } from '#api/kinds/operation-permit.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { type HealthyVersion, completedIn, healthyBefore, wasHealthy, wasLeft } from '#api/protocol/healthy-before.ts'
import { isRecordOf, readSetRevision } from '#api/protocol/set-revision.ts'
import { definitionDigest } from '#api/trust/statement.ts'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeObject } from '#api/schema/object.ts'

const revisionType = coreKind('ControllerRevision')

/** While recoveries wait, each decision looks them up. Records change when a ladder completes or a way back starts. */
const REVISIONS_MS = 2_000

export interface RecoveryOptions {
  readonly client: KubeClient
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Logger
}

export interface KnownObjects {
  readonly setNamed: (name: string) => MachineComponentSet | undefined
  readonly machineNamed: (name: string) => Machine | undefined
  readonly definitions: (component: string, version: string) => readonly MachineComponent[]
}

export class RecoveryWatch {
  readonly #options: RecoveryOptions
  #revisions: { readonly at: number; readonly items: readonly KubeObject[] } | undefined
  /** UIDs of targets by UID of the permit. */
  #believed: ReadonlyMap<string, ReadonlySet<string>> = new Map()

  constructor(options: RecoveryOptions) {
    this.#options = options
  }

  isRecovery({ metadata }: OperationPermit, target: string): boolean {
    return this.#believed.get(metadata.uid ?? '')?.has(target) === true
  }

  async observe(permits: readonly OperationPermit[], known: KnownObjects): Promise<void> {
    const claims = permits.filter((p) => p.spec.recovery)
    const revisions = claims.length === 0 ? [] : await this.#allRevisions()
    this.#believed = new Map(claims.map((p) => [p.metadata.uid ?? '', recoveringTargets(p, revisions, known)]))
  }

  async #allRevisions(): Promise<readonly KubeObject[]> {
    const { client, clock, log } = this.#options
    const at = clock.monotonic()
    if (this.#revisions !== undefined && at - this.#revisions.at < REVISIONS_MS) return this.#revisions.items
    try {
      const { items } = await client.list(revisionType, { namespace: SYSTEM_NAMESPACE })
      this.#revisions = { at, items }
      return items
    } catch (e) {
      // An unreadable record makes no recovery. The permit waits like any other.
      log.warn('cannot read which versions were healthy', { error: messageOf(e) })
      return []
    }
  }
}

const NONE: ReadonlySet<string> = new Set()

/** UIDs of the targets that return. Pure. */
export function recoveringTargets(
  { spec }: OperationPermit,
  revisions: readonly KubeObject[],
  { setNamed, machineNamed, definitions }: KnownObjects,
): ReadonlySet<string> {
  const { requester, component, operations, targets } = spec
  const set = requester.kind === 'MachineComponentSet' ? setNamed(requester.name ?? '') : undefined
  if (set === undefined || component?.version === undefined) return NONE
  if (requester.uid !== undefined && requester.uid !== set.metadata.uid) return NONE
  const [definition, ...others] = definitions(component.name, component.version)
  if (definition === undefined || others.length > 0 || !isSwitchOf(definition, operations)) return NONE
  const { version, config } = component
  const wanted = { version, digest: definitionDigest(definition), ...defined({ config }) }
  const own = revisions.filter((r) => isRecordOf(r, set))
  if (wasLeft(own, component.name, wanted)) return NONE
  if (wasHealthy(healthyBefore(own, component.name), wanted) || isUnrecorded(set, own, component.name, wanted))
    return new Set(targets.map((t) => t.uid))
  return new Set(
    targets.filter((t) => wasHealthyOn(machineNamed(t.name), t.uid, component.name, wanted)).map((t) => t.uid),
  )
}

/** Nothing beyond what the switch itself needs. */
function isSwitchOf({ spec: { disruption } }: MachineComponent, operations: readonly Disruption[]): boolean {
  const needed = new Set<Disruption>(['SwitchComponent'])
  if (disruption === 'Drain' || disruption === 'Reboot') needed.add('Drain')
  if (disruption === 'Reboot') needed.add('Reboot')
  return operations.includes('SwitchComponent') && operations.every((o) => needed.has(o))
}

function wasHealthyOn(machine: Machine | undefined, uid: string, component: string, wanted: HealthyVersion): boolean {
  if (machine === undefined || machine.metadata.uid !== uid) return false
  const report = machine.status?.components?.find((c) => c.name === component)
  return wasHealthy(report?.healthyBefore ?? [], wanted)
}

/** A set that completed before there were records: its last healthy revision shows what it had, by name. */
function isUnrecorded(
  { status }: MachineComponentSet,
  own: readonly KubeObject[],
  component: string,
  { version, config }: HealthyVersion,
): boolean {
  const current = own.find((r) => r.metadata.name === status?.revisions?.current)
  if (current === undefined || completedIn(current).size > 0) return false
  const entry = readSetRevision(current)?.components.find((c) => c.name === component)
  return entry?.version === version && renderedConfig(entry)?.object === config
}
