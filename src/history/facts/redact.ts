// Removes from texts what looks like a secret, and from texts of thousands of nodes the parts that differ each time, before they are recorded. Pure.
import { maskSecretsIn } from '#lib/mask-text.ts'

/** Values of these fields are always secret. */
const SECRET_KEY = /password|passwd|secret(?!s?Refs?$|Name$)|token(?!s?Ref$)|api[-_]?key|private[-_]?key|credential/i
const MASK = '[secret]'
/** A commit or a digest; every object has one. */
const HEX = /^(?:sha256:)?[0-9a-f]{12,64}$/
/** Fields that contain the location of a secret or a digest, never a secret. */
const NAMES_A_PLACE = /(refs?|name|digest|uid|path|commit|end)$/i

const UID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi
const DIGEST = /\b(?=[a-f]*\d)[0-9a-f]{12,}\b/gi
const ADDRESS = /(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?(?![\w.])|\[[0-9a-f:.]{3,45}\](?::\d+)?/gi
/** Counts, percentages, durations and times, but not digits in a name. */
const NUMBER = /(?<![\w.-])\d[\d.,:]*(?:[a-zA-Zµ%]{1,3}\d[\d.]*)*(?:[a-zA-Zµ%]{1,3}(?![\w-]))?(?![\w-])/g

export interface TextOptions {
  /** Name of the field with the text. */
  readonly key: string
  /** Keep only the form of the text, without its numbers. */
  readonly isTemplate: boolean
}

export function redactedText(text: string, { key, isTemplate }: TextOptions): string {
  if (SECRET_KEY.test(key) && !NAMES_A_PLACE.test(key)) return MASK
  const masked = needsMask(text) && !HEX.test(text) ? maskSecretsIn(text) : text
  return isTemplate ? templateOf(masked) : masked
}

/** A quick check: most texts are names and words without a character that secrets have. */
const needsMask = (text: string): boolean => text.length > 15 || text.includes('=') || text.includes(':')

export const templateOf = (text: string): string =>
  text.replaceAll(UID, '<uid>').replaceAll(DIGEST, '<digest>').replaceAll(ADDRESS, '<address>').replaceAll(NUMBER, '#')
