// A machine whose pool asks for an acceptance, up to the moment when everything else is done. For tests.
import { machineSet } from '#api/kinds/machine-set.ts'
import { type AcceptanceStatus, machine as machineType } from '#api/kinds/machine.ts'
import { TAINTS } from '#api/names.ts'
import { findCondition } from '#kube/conditions.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { hasTaint, nodeType } from '#nodes/objects.ts'
import { type TestWorld, beat, components, definition, register, report, setOf } from './machine-world.ts'

export const MINUTE_MS = 60_000

function pool(acceptance: object | undefined) {
  const set = setOf(1)
  return {
    ...set,
    spec: { ...set.spec, template: { ...set.spec.template, spec: { ...set.spec.template.spec, acceptance } } },
  }
}

/** Joined, with all components installed. */
export async function installed(w: TestWorld, acceptance: object | null): Promise<string> {
  w.fake.plant(machineComponent, definition('1.0.0'))
  w.fake.plant(machineComponentSet, components('1.0.0'))
  w.fake.plant(machineSet, pool(acceptance ?? undefined))
  await w.clock.advance(1_000)
  const name = w.fake.all(machineType)[0]?.metadata.name ?? ''
  beat(w, name)
  register(w, name)
  await w.clock.advance(1_000)
  report(w, name, 'Healthy')
  await pass(w, name, 5_000)
  return name
}

export const recordOf = (w: TestWorld, name: string): AcceptanceStatus | undefined =>
  w.machine(name)?.status?.acceptance
export const isClosed = (w: TestWorld, name: string) =>
  hasTaint(w.fake.peek(nodeType, { name }), TAINTS.componentsPending)
export const conditionOf = (w: TestWorld, name: string, type: string) =>
  findCondition(w.machine(name)?.status?.conditions, type)

/** Heartbeats keep coming. */
export async function pass(w: TestWorld, name: string, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 20_000) {
    beat(w, name)
    await w.clock.advance(Math.min(20_000, left))
  }
}
