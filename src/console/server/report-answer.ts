// Answers what a cluster was like over some days, with the rights of the user who asks: the report of `kubenode report`.
import type { PastFacts } from '#explain/report/history-facts.ts'
import { readFacts } from '#explain/report/read-facts.ts'
import { reportOf } from '#explain/report/reports.ts'
import type { OtherCluster } from '#explain/with-hub.ts'
import { durationMs } from '#lib/duration.ts'
import { shellWord } from '#lib/shell-word.ts'
import type { Range } from '#history/ask/reader.ts'
import type { KubeClient } from '#kube/client.ts'
import type { ReportAnswer, ReportKindShown } from '../report.ts'
import { Refused } from './request.ts'

export interface ReportRequest {
  readonly client: KubeClient
  readonly cluster: string
  readonly kind: string
  readonly since: string
  readonly now: number
  readonly hubs: readonly OtherCluster[]
  /** What the user may see of a recorded history; undefined if the cluster is not recorded. */
  readonly past: (range: Range) => Promise<PastFacts | undefined>
}

const REPORT_KINDS: readonly ReportKindShown[] = ['fleet', 'pool', 'repairs', 'release']
/** As long as the service levels are kept. */
const LONGEST_MS = 31 * 86_400_000

export async function reportAnswer({
  client,
  cluster,
  kind,
  since,
  now,
  hubs,
  past,
}: ReportRequest): Promise<ReportAnswer> {
  const known = REPORT_KINDS.find((k) => k === kind)
  const ms = durationMs(since)
  if (known === undefined || ms === undefined || ms <= 0 || ms > LONGEST_MS)
    throw new Refused(400, 'BadReport', `a report is one of ${REPORT_KINDS.join(', ')}, over at most 31d`)
  const range = { from: now - ms, to: now }
  const facts = await readFacts({
    client,
    cluster,
    ...range,
    past: await past(range),
    beside: () => Promise.resolve(hubs),
  })
  return {
    report: reportOf(known, facts),
    command: `kubenode report ${known} --since ${since} --context ${shellWord(cluster)}`,
  }
}
