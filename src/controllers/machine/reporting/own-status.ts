// The part of a Machine's status that this controller wrote before. Every write covers all of it: omitted fields are removed.
import { isObserved } from '#nodes/machine-node.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { type OwnStatus, ownConditions } from '../status.ts'
import { defined } from '#lib/defined.ts'

export function ownStatusOf(machine: Machine): OwnStatus {
  const {
    observedGeneration,
    phase,
    nodeRef,
    inServiceSince,
    commit,
    provisioning,
    powerCycle,
    acceptance,
    waitingFor,
    components = [],
    bootID,
    platform,
  } = machine.status ?? {}
  const isOurs = (name: string) => machine.spec.components?.some((c) => c.name === name && c.workload === true)
  const reports = isObserved(machine) ? components : components.filter((c) => isOurs(c.name))
  return {
    ...defined({
      observedGeneration,
      phase,
      nodeRef,
      inServiceSince,
      commit,
      provisioning,
      powerCycle,
      acceptance,
      waitingFor,
    }),
    ...(reports.length > 0 && { components: reports }),
    ...(isObserved(machine) && bootID !== undefined && { bootID }),
    ...(isObserved(machine) && platform !== undefined && { platform }),
    conditions: ownConditions(machine),
  }
}
