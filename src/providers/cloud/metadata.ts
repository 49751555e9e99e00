// The metadata service of a cloud's hosts: its address, how a session starts, and which pages announce the host's end. Pure.
import type { MachineNotices, NOTICE_CLOUDS } from '#api/kinds/machine.ts'
import { timestamp } from '#lib/clock.ts'
import { printableLine } from '#lib/printable.ts'
import { shortened } from '#lib/shortened.ts'

export type NoticeCloud = (typeof NOTICE_CLOUDS)[number]
export type Notice = MachineNotices['items'][number]

interface NoticePage {
  readonly path: string
  readonly everyMs: number
  /** Undefined if unreadable; nothing is concluded from it. */
  readonly notices: (text: string) => readonly Notice[] | undefined
}

/** Both vendors issue a session at `/latest/api/token`, under different names. */
export interface MetadataSession {
  readonly origin: string
  readonly secondsHeader: string
  readonly sessionHeader: string
}

export interface MetadataService extends MetadataSession {
  readonly cloud: NoticeCloud
  readonly pages: readonly NoticePage[]
}

/** A spot host has two minutes; AWS recommends this interval. */
export const SPOT_EVERY_MS = 5_000
/** Maintenance is announced hours ahead. */
export const MAINTENANCE_EVERY_MS = 60_000

const LONGEST_TEXT = 200
const LONGEST_ID = 128

const FIRST_MS = Date.parse('1970-01-01T00:00:00Z')
const LAST_MS = Date.parse('9999-12-31T23:59:59Z')

/**
 * In the format of KubeNode's kinds. Undefined for text that is not a time, or a year that RFC 3339 cannot represent: the whole report would be refused for it.
 */
export const timeIn = (text: string | undefined): string | undefined => {
  const ms = Date.parse(text ?? '')
  return ms >= FIRST_MS && ms <= LAST_MS ? timestamp(ms) : undefined
}

export const sentence = (text: string): string => shortened(printableLine(text), LONGEST_TEXT)

/** Cut between characters: half a character would be stored differently, and the report would never equal the server's. */
export const idOf = (text: string | undefined): string | undefined => {
  const id = [...printableLine(text ?? '')].slice(0, LONGEST_ID).join('')
  return id === '' ? undefined : id
}
