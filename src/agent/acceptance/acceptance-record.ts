// The journal of the last ordered acceptance, written before the script starts and after it ended: a crash never repeats an attempt unnoticed.
import type { AcceptanceReport } from '#api/kinds/machine.ts'
import { isObject } from '#lib/json.ts'

export interface AcceptanceRecord {
  readonly format: 1
  readonly report: AcceptanceReport
}

export function parseAcceptanceRecord(v: unknown): AcceptanceRecord | undefined {
  if (!isObject(v) || v['format'] !== 1 || !isObject(v['report'])) return undefined
  const { run, startedAt, outcome } = v['report']
  const isGood =
    typeof run === 'string' && typeof startedAt === 'string' && (outcome === undefined || typeof outcome === 'string')
  return isGood ? (v as unknown as AcceptanceRecord) : undefined
}
