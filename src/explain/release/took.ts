// How long something took, as a column shows it. Pure.
import { formatAge } from '#lib/duration.ts'

export function tookText(from: string | undefined, to: string | undefined): string {
  const ms = Date.parse(to ?? '') - Date.parse(from ?? '')
  return Number.isNaN(ms) ? '-' : formatAge(ms)
}
