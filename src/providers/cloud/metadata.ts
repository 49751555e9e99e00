// The metadata service that a cloud has on each of its hosts: where it is, how a session with it begins, and which of its pages tell of the host's end. Pure.
import type { MachineNotices, NOTICE_CLOUDS } from '#api/kinds/machine.ts'
import { timestamp } from '#lib/clock.ts'
import { printableLine } from '#lib/printable.ts'
import { shortened } from '#lib/shortened.ts'

export type NoticeCloud = (typeof NOTICE_CLOUDS)[number]
export type Notice = MachineNotices['items'][number]

interface NoticePage {
  readonly path: string
  readonly everyMs: number
  /** Undefined: it cannot be read, and nothing is concluded from it. */
  readonly notices: (text: string) => readonly Notice[] | undefined
}

/** Both vendors give a session at `/latest/api/token`, under names of their own. */
export interface MetadataSession {
  readonly origin: string
  readonly secondsHeader: string
  readonly sessionHeader: string
}

export interface MetadataService extends MetadataSession {
  readonly cloud: NoticeCloud
  readonly pages: readonly NoticePage[]
}

/** A spot host has two minutes: AWS asks for this period. */
export const SPOT_EVERY_MS = 5_000
/** Maintenance is announced hours before. */
export const MAINTENANCE_EVERY_MS = 60_000

const LONGEST_TEXT = 200
const LONGEST_ID = 128

const FIRST_MS = Date.parse('1970-01-01T00:00:00Z')
const LAST_MS = Date.parse('9999-12-31T23:59:59Z')

/** In the form of our kinds; undefined for a text that is no time, or one of a year that RFC 3339 cannot write: the whole report would be refused for it. */
export const timeIn = (text: string | undefined): string | undefined => {
  const ms = Date.parse(text ?? '')
  return ms >= FIRST_MS && ms <= LAST_MS ? timestamp(ms) : undefined
}

export const sentence = (text: string): string => shortened(printableLine(text), LONGEST_TEXT)

/** Cut between characters: half of one is stored as another, and the report would never equal the one of the server. */
export const idOf = (text: string | undefined): string | undefined => {
  const id = [...printableLine(text ?? '')].slice(0, LONGEST_ID).join('')
  return id === '' ? undefined : id
}
