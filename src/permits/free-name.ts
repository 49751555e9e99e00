// Numbered names of permits. Pure.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'

/** The first name from this number on that none of the permits has: those that ended long ago are deleted, so how many there are is no number that is free. */
export function freePermitName(base: string, permits: readonly OperationPermit[], from = 0): string {
  const used = new Set(permits.map((p) => p.metadata.name))
  for (let n = from; ; n++) if (!used.has(`${base}${n}`)) return `${base}${n}`
}
