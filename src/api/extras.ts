// What our validator knows about a schema node beyond the schema itself. It is stored under a symbol: invisible to JSON, to YAML and to every reader of plain
// schemas, so a CRD never differs from the schema of the types.
import type { Schema } from './schema/schema.ts'
import type { Problem } from './problem.ts'

/** A problem below the checked value; `pointer` is relative to it ('' or 'a/b'). */
export interface Finding {
  readonly pointer: string
  /** Of a rule, unless said. */
  readonly code?: Problem['code']
  readonly message: string
  readonly allowed?: string
}

export interface Check {
  readonly name: string
  findings(value: unknown): readonly Finding[]
}

export interface Extras {
  /** The pattern or shape in words. */
  readonly expects?: string
  readonly checks?: readonly Check[]
  /** Bound of free-form data, in bytes of JSON. */
  readonly maxBytes?: number
  /** Set when the value may never change; the message says why. */
  readonly immutable?: string
  /** Properties of an immutable object that may change all the same. */
  readonly mutable?: readonly string[]
  /** No part of KubeNode acts on it yet: set for all values, or for those that are named. */
  readonly unserved?: Unserved
}

export interface Unserved {
  readonly reason: string
  readonly values?: readonly string[]
}

export const EXTRAS: unique symbol = Symbol('kubenode.extras')

export type ApiSchema = Schema & { readonly [EXTRAS]?: Extras }

export const extrasOf = (schema: ApiSchema): Extras => schema[EXTRAS] ?? {}

/** A check of one value by itself: the problem in words, or nothing. */
export const check = (name: string, problem: (value: unknown) => string | undefined): Check => ({
  name,
  findings: (value) => {
    const message = problem(value)
    return message === undefined ? [] : [{ pointer: '', message }]
  },
})

export const sizeCheck = (maxBytes: number): Check =>
  check(`at most ${maxBytes} bytes`, (value) => {
    const bytes = Buffer.byteLength(JSON.stringify(value) ?? '')
    return bytes <= maxBytes ? undefined : `is ${bytes} bytes of JSON, at most ${maxBytes} are allowed`
  })
