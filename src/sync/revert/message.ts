// The message of a revert by sync: what failed, where and since when, in lines that read well in git log. Pure.
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import { stagePart } from '#api/protocol/part.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { printableLine } from '#lib/printable.ts'
import { revertTrailers } from '../trust/revert-trailers.ts'

export interface RevertMessage {
  readonly release: Pick<Release, 'metadata' | 'spec'>
  readonly status: ReleaseStatus
  readonly subject: string
  readonly reverts: string
  readonly restores: string
  readonly paths: readonly string[]
  /** Adds a trailer. */
  readonly plan?: string | undefined
}

const MAX_SUBJECT = 72
const MOST_CLUSTERS = 10
const MOST_PATHS = 20
const MAX_LINE = 200

export function revertMessage({ release, status, subject, reverts, restores, paths, plan }: RevertMessage): string {
  const name = namespacedName(release)
  const stage = status.stages?.find((s) => s.phase === 'Failed')
  const failed = (status.clusters ?? []).filter((c) => c.phase === 'Failed')
  const since = stage?.waitingFor?.since
  const lines = [
    `This reverts commit ${reverts}.`,
    '',
    `Release ${name} failed in ${stagePart(stage?.name ?? '')}${since === undefined ? '' : ` at ${since}`}.`,
    ...some(failed, MOST_CLUSTERS, (c) => `cluster ${c.name}: ${c.message ?? 'failed'}`),
    '',
    `These files are again as in commit ${restores}:`,
    ...some(paths, MOST_PATHS, (path) => path),
  ]
  const title = `Revert "${oneLine(subject)}"`
  const short = title.length <= MAX_SUBJECT ? title : `${title.slice(0, MAX_SUBJECT - 2)}…"`
  const trailers = [
    revertTrailers({ reverts, restores }),
    `Kubenode-Release: ${name}`,
    ...(plan === undefined ? [] : [plan]),
  ]
  return `${short}\n\n${lines.join('\n')}\n\n${trailers.join('\n')}\n`
}

/** Indented, so that no line from a server or a commit is mistaken for a trailer. */
const some = <T>(all: readonly T[], most: number, line: (each: T) => string): readonly string[] => [
  ...all.slice(0, most).map((each) => `- ${oneLine(line(each))}`),
  ...(all.length > most ? [`- and ${all.length - most} more`] : []),
]

const oneLine = (text: string): string => printableLine(text).slice(0, MAX_LINE)
