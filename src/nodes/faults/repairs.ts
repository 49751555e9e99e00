// The fact `repairs`: previous repairs of a node, from their jobs, which are kept for a day after they end.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { Facts } from '#policy/reading.ts'

const DAY_MS = 86_400_000

const at = (text: string | undefined): number => Date.parse(text ?? '') || 0

/** `jobs` are all counting jobs of the node. A start in the future means a wrong clock, and counts. */
export function repairsFact(jobs: readonly RemedyOperationJob[], now: number): Facts {
  const real = jobs.filter((j) => !j.spec.dryRun)
  const started = real.filter((j) => j.status?.startedAt !== undefined && now - at(j.status.startedAt) < DAY_MS)
  const [last] = real
    .filter((j) => j.status?.phase === 'Done')
    .toSorted((a, b) => at(b.status?.finishedAt) - at(a.status?.finishedAt) || b.spec.rung - a.spec.rung)
  // It is known that no repair happened: absent, not unobserved.
  return {
    lastDay: started.length,
    lastRule: last?.spec.remedierRef.name ?? null,
    lastOutcome: last?.status?.outcome ?? null,
    lastEndedAt: last?.status?.finishedAt ?? null,
  }
}
