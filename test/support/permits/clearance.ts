// For tests of what disrupts, and for planted bugs that disrupt without a permit.
import type { Clearance } from '#permits/under-permit.ts'

export const CLEARANCE = {} as Clearance
