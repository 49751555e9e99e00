// The reasons that a decision can have: words of the catalogue, so that each has its runbook.
import type { REASONS } from '#api/catalogue.ts'

export type ReasonName = keyof typeof REASONS
