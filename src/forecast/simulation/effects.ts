// What decisions change in a cluster in memory. Pure, and the same for the world of a forecast and for the tests' driver of the planner.
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { hasOpenSwitch } from '#api/protocol/component-order.ts'
import { isSwitching } from '#api/protocol/switch.ts'
import type { SetAction } from '#controllers/componentset/actions.ts'
import type { ControllerRevision } from '#controllers/componentset/revisions/revisions.ts'
import { type Claim, desiredComponents } from '#controllers/machine/components/desired.ts'
import { changedComponents, planOrders } from '#controllers/machine/components/orders.ts'
import { microTimestamp, timestamp } from '#lib/clock.ts'
import { assertNever } from '#lib/errors.ts'

export function revisionsAfter(
  revisions: readonly ControllerRevision[],
  action: Extract<SetAction, { readonly revision: ControllerRevision }>,
): readonly ControllerRevision[] {
  switch (action.kind) {
    case 'CreateRevision': {
      const { metadata } = action.revision
      return [...revisions, { ...action.revision, metadata: { ...metadata, uid: `uid-${metadata.name}` } }]
    }
    case 'RenumberRevision':
      return revisions.map((r) => (r.metadata.name === action.revision.metadata.name ? action.revision : r))
    case 'KeepEvidence':
      return annotated(revisions, action.revision, { [ANNOTATIONS.blocked]: action.evidence })
    case 'KeepCompleted':
      return annotated(revisions, action.revision, { [ANNOTATIONS.completed]: action.completed })
    case 'DeleteRevision':
      return revisions.filter((r) => r.metadata.name !== action.revision.metadata.name)
    default:
      return assertNever(action)
  }
}

const annotated = (
  revisions: readonly ControllerRevision[],
  { metadata: { name } }: ControllerRevision,
  added: Readonly<Record<string, string>>,
): readonly ControllerRevision[] =>
  revisions.map((r) =>
    r.metadata.name === name
      ? { ...r, metadata: { ...r.metadata, annotations: { ...r.metadata.annotations, ...added } } }
      : r,
  )

type Of<Kind extends SetAction['kind']> = Extract<SetAction, { readonly kind: Kind }>

export const requestedPermit = (
  { permit, request }: Of<'RequestPermit'>,
  uid: string,
  now: number,
): OperationPermit => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'OperationPermit',
  metadata: { name: permit, uid, creationTimestamp: timestamp(now) },
  spec: request as OperationPermit['spec'],
})

/** A result that was reported before stays. */
export function withResults(permit: OperationPermit, { results }: Of<'Report'>): OperationPermit {
  const reported = Object.fromEntries(results.map((r) => [r.uid, r.result]))
  return { ...permit, spec: { ...permit.spec, results: { ...reported, ...permit.spec.results } } }
}

export interface ForOrders {
  readonly machine: Machine
  /** It takes no pods yet: no switch disrupts it. */
  readonly isClosed: boolean
  readonly claims: readonly Claim[]
  /** Those of which it is a target. */
  readonly permits: readonly OperationPermit[]
  readonly componentOf: (name: string, version: string) => MachineComponent | undefined
}

/** With the orders of its machine controller. */
export function withOrders({ machine, isClosed, claims, permits, componentOf }: ForOrders): Machine {
  const name = machine.metadata.name ?? ''
  const reports = machine.status?.components ?? []
  const current = machine.spec.components ?? []
  const marks = [] as const
  const desired = desiredComponents({ machine: name, isClosed, current, reports, claims, marks })
  const { components } = planOrders({
    machine: name,
    machineUid: machine.metadata.uid ?? '',
    components: desired,
    reports,
    claims,
    marks,
    permits,
    definitions: desired.flatMap((c) => componentOf(c.name, c.version) ?? []),
    // The recorded duration of a switch includes the drain.
    isDrained: true,
  })
  const written = changedComponents(current, components, reports) ?? current
  return { ...machine, spec: { ...machine.spec, components: written } }
}

export const renewed = (permit: OperationPermit, now: number): OperationPermit => ({
  ...permit,
  spec: { ...permit.spec, renewTime: microTimestamp(now) },
})

/** In service, its phase says whether a component of it switches or is about to. */
export function phased(machine: Machine): Machine {
  const { phase, components: reports = [] } = machine.status ?? {}
  if (phase !== 'Ready' && phase !== 'Updating') return machine
  const isBusy = hasOpenSwitch(machine) || reports.some((r) => isSwitching(r.state))
  return { ...machine, status: { ...machine.status, phase: isBusy ? 'Updating' : 'Ready' } }
}
