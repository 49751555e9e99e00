// The permits, by what each decision needs: the open ones, and those that hold a slot. Ended permits are kept for a day, and there are many more of
// them.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { operationsOf } from '#api/protocol/permit-allows.ts'
import { isOpen } from './permit-phase.ts'

export class PermitWatch {
  readonly #byUid = new Map<string, OperationPermit>()
  readonly #open = new Map<string, OperationPermit>()

  put(before: OperationPermit | undefined, now: OperationPermit | undefined): void {
    const [uidBefore, uid] = [before?.metadata.uid ?? '', now?.metadata.uid ?? '']
    if (uidBefore !== uid) {
      this.#byUid.delete(uidBefore)
      this.#open.delete(uidBefore)
    }
    if (now === undefined) return
    const permit = withOperations(now)
    this.#byUid.set(uid, permit)
    if (isOpen(permit)) this.#open.set(uid, permit)
    else this.#open.delete(uid)
  }

  open(): readonly OperationPermit[] {
    return [...this.#open.values()]
  }

  of(uid: string): OperationPermit | undefined {
    return this.#byUid.get(uid)
  }
}

/** One permit written past or before the schema must not block the decisions on all others. */
const withOperations = (permit: OperationPermit): OperationPermit => {
  const operations = operationsOf(permit)
  return operations === permit.spec.operations ? permit : { ...permit, spec: { ...permit.spec, operations } }
}
