// SHA-256 of text and bytes.
import { createHash } from 'node:crypto'
import { canonicalJson } from './json.ts'

export const sha256 = (data: string | Uint8Array): Buffer => createHash('sha256').update(data).digest()

/** In hex. */
export const sha256Hex = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex')

/** Equal for equal values. */
export const sha256OfJson = (value: unknown): string => sha256Hex(canonicalJson(value))
