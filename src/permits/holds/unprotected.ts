// Decides whether a person lifted the protection of one object by name, as `kubenode unprotect cluster/prod` does.
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { isInForce, readable } from './in-force.ts'

interface Protected {
  readonly kind: string
  readonly name: string
  readonly namespace?: string | undefined
}

/** A hold on all objects of a kind, or on the whole cluster, does not name the object. */
export const isUnprotected = (holds: readonly OperationalHold[], object: Protected, now: number): boolean =>
  holds.map(readable).some((hold) => {
    const { effect, target } = hold.spec
    return (
      effect === 'Unprotect' &&
      target.kind === object.kind &&
      target.name === object.name &&
      (target.namespace === undefined || target.namespace === object.namespace) &&
      isInForce(hold, now)
    )
  })
