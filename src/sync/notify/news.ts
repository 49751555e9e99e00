// News: the current event of a Release or a FleetSource, with its facts. src/explain decides what counts as news, and in which words.
import type { NOTIFY_EVENTS } from '#api/kinds/notify.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Release } from '#api/kinds/release.ts'

export type NotifyEvent = (typeof NOTIFY_EVENTS)[number]

/** Names that a template may use. */
export const FACTS = [
  'event',
  'source',
  'release',
  'track',
  'commit',
  'subject',
  'author',
  'stage',
  'phase',
  'message',
  'next',
] as const
export type Facts = Readonly<Record<(typeof FACTS)[number], string>>

export interface News {
  readonly event: NotifyEvent
  /** News with the same key is sent once. */
  readonly key: string
  readonly commit: string
  readonly facts: Facts
  /** This object will cause no further news. */
  readonly isLast: boolean
}

export interface NewsFound {
  /** Undefined: nothing yet. */
  readonly news?: News
  /** There may be more news after this time, even without a change. */
  readonly againMs?: number
}

/** `releases`: used to find the title of the reverting commit. */
export interface NewsReader {
  readonly ofRelease: (release: Release, releases: readonly Release[], now: number) => NewsFound
  readonly ofSource: (source: FleetSource) => NewsFound
}
