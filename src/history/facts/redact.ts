// What is written into the history instead of a text: without anything that looks like a secret, and for texts of thousands of nodes without the parts that
// differ each time. Pure.
import { maskSecretsIn } from '#lib/mask-text.ts'

/** Their values are secrets, whatever they look like. */
const SECRET_KEY = /password|passwd|secret(?!s?Refs?$|Name$)|token(?!s?Ref$)|api[-_]?key|private[-_]?key|credential/i
const MASK = '[secret]'
/** A commit or a digest, of which there is one in every object. */
const HEX = /^(?:sha256:)?[0-9a-f]{12,64}$/
/** Fields that name a secret's place or a digest, and no secret. */
const NAMES_A_PLACE = /(refs?|name|digest|uid|path|commit|end)$/i

const UID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi
const DIGEST = /\b(?=[a-f]*\d)[0-9a-f]{12,}\b/gi
const ADDRESS = /(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?(?![\w.])|\[[0-9a-f:.]{3,45}\](?::\d+)?/gi
/** Counts, percents, durations and times, but not the digits of a name. */
const NUMBER = /(?<![\w.-])\d[\d.,:]*(?:[a-zA-Zµ%]{1,3}\d[\d.]*)*(?:[a-zA-Zµ%]{1,3}(?![\w-]))?(?![\w-])/g

export interface TextOptions {
  /** The field that holds the text. */
  readonly key: string
  /** Only the form of the text is kept. */
  readonly isTemplate: boolean
}

export function redactedText(text: string, { key, isTemplate }: TextOptions): string {
  if (SECRET_KEY.test(key) && !NAMES_A_PLACE.test(key)) return MASK
  const masked = needsMask(text) && !HEX.test(text) ? maskSecretsIn(text) : text
  return isTemplate ? templateOf(masked) : masked
}

/** Most texts are names and words: no character of a secret's form is in them. */
const needsMask = (text: string): boolean => text.length > 15 || text.includes('=') || text.includes(':')

export const templateOf = (text: string): string =>
  text.replaceAll(UID, '<uid>').replaceAll(DIGEST, '<digest>').replaceAll(ADDRESS, '<address>').replaceAll(NUMBER, '#')
