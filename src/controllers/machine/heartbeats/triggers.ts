// Decides which changes wake which machine: only changes of objects that its reconcile reads, because thousands of machines share most of them.
import type { ComponentConfig } from '#api/kinds/component-config.ts'
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { agentLeaseName } from '#api/names.ts'
import { jsonEqual } from '#lib/json.ts'
import { matchesLabels } from '#kube/selector.ts'
import type { SharedInformer } from '#runtime/informers.ts'
import type { Lease } from '#runtime/lease.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { machinesOrdered, movedMachines } from '../components/concerned.ts'
import { type Heartbeats, SILENT_AFTER_MS } from './heartbeats.ts'
import { type MachineCaches, machineOfSealed, machinesSealedFor } from '../observe.ts'

type BothHeartbeats = { readonly agentHeartbeats: Heartbeats; readonly nodeHeartbeats: Heartbeats }

export function wakeUp(
  caches: MachineCaches,
  { agentHeartbeats, nodeHeartbeats }: BothHeartbeats,
  wake: (machine: string) => void,
): void {
  const named = (o: KubeObject | undefined) => o?.metadata.name !== undefined && wake(o.metadata.name)
  caches.machines.onChange((before, now) => void named(now ?? before))
  caches.nodes.onChange((before, now) => void named(now ?? before))
  caches.sealed.onChange((before, now) => wake(machineOfSealed(now ?? before ?? { metadata: {} })))
  caches.configs.onChange((before, now) => {
    const config = now ?? before
    if (config?.spec.secrets === undefined) return
    for (const m of machinesSealedFor(caches, config)) wake(m)
    if (before === undefined) for (const m of caches.machines.list()) if (refersTo(m, config)) named(m)
  })
  caches.permits.onChange((before, now) => {
    for (const machine of machinesOrdered(before, now)) wake(machine)
  })
  caches.sets.onChange((before, now) => {
    const moved = before === undefined || now === undefined ? undefined : movedMachines(before, now)
    if (moved !== undefined) for (const m of moved) wake(m)
    else
      for (const m of caches.machines.list())
        if ([before, now].some((set) => set && isMatch(set.spec.selector, m))) named(m)
  })
  caches.definitions.onChange((before, now) => {
    if (jsonEqual(before?.spec, now?.spec)) return
    for (const m of caches.machines.list()) if ([before, now].some((d) => d && isOrdered(m, d))) named(m)
  })
  // A set's status may name a revision before it is in the cache. Later changes of a revision do not matter.
  caches.revisions.onChange((before, now) => {
    if (before !== undefined || now === undefined) return
    const owners = (now.metadata.ownerReferences ?? []).flatMap((o) => caches.sets.get(o.name) ?? [])
    const ofOwners = owners.filter((set) => set.status?.revisions?.update === now.metadata.name)
    for (const m of caches.machines.list()) if (ofOwners.some((set) => isMatch(set.spec.selector, m))) named(m)
  })
  caches.canaries.onChange((before, now) => {
    for (const canary of [before, now]) for (const m of canary?.status?.machines ?? []) wake(m)
  })
  // Holds are rare, and one can match machines in many ways.
  caches.holds.onChange(() => {
    for (const m of caches.machines.list()) named(m)
  })
  listen(caches.agentLeases, agentHeartbeats, (lease) => {
    const prefix = agentLeaseName('')
    if (lease.startsWith(prefix)) wake(lease.slice(prefix.length))
  })
  listen(caches.nodeLeases, nodeHeartbeats, wake)
}

const isOrdered = ({ spec }: Machine, { spec: { component, version } }: MachineComponent): boolean =>
  spec.components?.some((c) => c.name === component && c.version === version) === true

const refersTo = ({ spec }: Machine, { metadata }: ComponentConfig): boolean =>
  spec.components?.some((c) => c.config === metadata.name) === true

function isMatch(selector: Parameters<typeof matchesLabels>[0], machine: Machine): boolean {
  try {
    return matchesLabels(selector, machine.metadata.labels)
  } catch {
    return false
  }
}

/** A Lease wakes its machine when it is created, deleted, or renewed after a silence. Ordinary renewals, thousands of them, wake no machine. */
function listen(leases: SharedInformer<Lease>, heartbeats: Heartbeats, wake: (lease: string) => void): void {
  leases.onChange((before, now) => {
    const name = (now ?? before)?.metadata.name ?? ''
    if (now === undefined) heartbeats.forget(name)
    const wasUnknown = heartbeats.read(name).kind !== 'Heard'
    const silentMs = now && heartbeats.note(name, now.spec?.renewTime)
    if (now === undefined || wasUnknown || (silentMs !== undefined && silentMs >= SILENT_AFTER_MS)) wake(name)
  })
}
