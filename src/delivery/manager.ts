// The identity of a FleetSource in the clusters that it writes: its field manager and its user. Pure.
import { FIELD_MANAGERS } from '#api/names.ts'
import { sha256Hex } from '#lib/sha256.ts'

const PREFIX = `${FIELD_MANAGERS.sync}.`
/** The API server's limit. */
const MAX_MANAGER = 128
const HASH_DIGITS = 32

/**
 * A namespace has no dots, so two sources never share a manager. Long names are cut and get a hash after a slash. No name contains a slash, so none
 * can be chosen to equal another's short form.
 */
export function sourceManager(source: string): string {
  const name = `${PREFIX}${source.replace('/', '.')}`
  if (name.length <= MAX_MANAGER) return name
  const hash = sha256Hex(source).slice(0, HASH_DIGITS)
  return `${name.slice(0, MAX_MANAGER - HASH_DIGITS - 1)}/${hash}`
}

export const isSourceManager = (manager: string): boolean => manager.startsWith(PREFIX)
