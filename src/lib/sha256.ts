// SHA-256 of text and bytes.
import { hash } from 'node:crypto'
import { canonicalJson } from './json.ts'

export const sha256 = (data: string | Uint8Array): Buffer => hash('sha256', data, 'buffer')

/** In hex. */
export const sha256Hex = (data: string | Uint8Array): string => hash('sha256', data, 'hex')

/** Equal for equal values. */
export const sha256OfJson = (value: unknown): string => sha256Hex(canonicalJson(value))
