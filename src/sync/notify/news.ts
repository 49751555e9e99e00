// News: the event that a Release or a FleetSource is at, with its facts. What is news, and in which words, comes from the room that explains.
import type { NOTIFY_EVENTS } from '#api/kinds/notify.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Release } from '#api/kinds/release.ts'

export type NotifyEvent = (typeof NOTIFY_EVENTS)[number]

/** What a template may name. */
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
  /** Equal for news that is sent once. */
  readonly key: string
  readonly commit: string
  readonly facts: Facts
  /** Nothing follows from this object. */
  readonly isLast: boolean
}

export interface NewsFound {
  /** Undefined: nothing yet. */
  readonly news?: News
  /** There may be more after this time, without a change. */
  readonly againMs?: number
}

/** `releases`: where a commit that reverted another one has its title. */
export interface NewsReader {
  readonly ofRelease: (release: Release, releases: readonly Release[], now: number) => NewsFound
  readonly ofSource: (source: FleetSource) => NewsFound
}
