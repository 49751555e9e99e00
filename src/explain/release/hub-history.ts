// What commits changed on the hub, as rows of the fleet's history. Pure.
import { commitText, shortCommit } from '#api/protocol/commit-title.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { counted } from '#lib/counted.ts'
import { shortened } from '#lib/shortened.ts'
import { someOf } from '#lib/some-of.ts'
import { tookText } from './took.ts'

type HubRecord = NonNullable<NonNullable<FleetSource['status']>['hub']>[number]

export interface HistoryRow {
  /** When it began. */
  readonly at: number
  readonly row: readonly string[]
}

export const hubHistory = (sources: readonly FleetSource[]): readonly HistoryRow[] =>
  sources.flatMap(({ status }) =>
    (status?.hub ?? []).map((record) => ({ at: Date.parse(record.startedAt), row: rowOf(record) })),
  )

const rowOf = (record: HubRecord): readonly string[] => [
  record.startedAt,
  tookText(record.startedAt, record.finishedAt),
  commitText(record.commit, record),
  record.track,
  'hub',
  resultText(record),
  '-',
  '-',
  record.approvedBy?.join(', ') ?? '-',
]

const MOST_NAMED = 3
const MOST_CHARS = 80

function resultText({ phase, applied, deleted, deletedClusters = [], message, supersededBy }: HubRecord): string {
  const lost =
    deletedClusters.length === 0
      ? ''
      : `, among them ${someOf(
          deletedClusters.map((c) => `cluster/${c}`),
          MOST_NAMED,
        )}`
  const did = `${counted(applied, 'object')} applied, ${deleted} deleted${lost}`
  if (phase === 'Succeeded') return `Succeeded: ${did}`
  const end = supersededBy === undefined ? phase : `${phase}, superseded by ${shortCommit(supersededBy)}`
  return `${end}: ${shortened(message ?? '', MOST_CHARS)} (${did})`
}
