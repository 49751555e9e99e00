// Reports as the server of the console answers them, made by the code that makes real ones.
import type { ReportAnswer } from '#console/report.ts'
import { REPORTS, reportOf } from '#explain/report/reports.ts'
import { facts } from '../fleets/report-facts.ts'

const EVERY_MS = 30_000
const MOMENTS = 120

/** Two hours, in which a machine was silent for a while. */
const seen = Array.from({ length: MOMENTS }, (_, n) => {
  const silent = n > 40 && n < 60 ? 1 : 0
  return {
    at: facts.to - (MOMENTS - n) * EVERY_MS,
    total: 3,
    ready: 3 - silent,
    silent,
    repairing: n > 55 && n < 70 ? 1 : 0,
  }
})

export function reportFixture(kind: string): ReportAnswer {
  const known = REPORTS.find((k) => k === kind) ?? 'fleet'
  return { report: reportOf(known, facts), seen, command: `kubenode report ${known} --since 7d --context prod` }
}
