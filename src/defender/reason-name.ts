// The possible reasons of a decision. They come from the catalogue, so that each has a runbook.
import type { REASONS } from '#api/catalogue.ts'

export type ReasonName = keyof typeof REASONS
