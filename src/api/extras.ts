// Facts about a schema node for KubeNode's validator only. Stored under a symbol, which JSON, YAML and readers of plain schemas do not see, so a CRD never
// differs from the types' schema.
import type { Schema } from './schema/schema.ts'
import type { Problem } from './problem.ts'

/** A problem below the checked value; `pointer` is relative to it ('' or 'a/b'). */
export interface Finding {
  readonly pointer: string
  /** A rule violation by default. */
  readonly code?: Problem['code']
  readonly message: string
  readonly allowed?: string
}

export interface Check {
  readonly name: string
  findings(value: unknown): readonly Finding[]
}

export interface Extras {
  /** A description of the pattern or shape. */
  readonly expects?: string
  readonly checks?: readonly Check[]
  /** Limit of free-form data, in bytes of JSON. */
  readonly maxBytes?: number
  /** Set if the value may never change; the message gives the reason. */
  readonly immutable?: string
  /** Properties of an immutable object that may still change. */
  readonly mutable?: readonly string[]
  /** No part of KubeNode acts on it yet: for all values, or for the named ones. */
  readonly unserved?: Unserved
}

export interface Unserved {
  readonly reason: string
  readonly values?: readonly string[]
}

export const EXTRAS: unique symbol = Symbol('kubenode.extras')

export type ApiSchema = Schema & { readonly [EXTRAS]?: Extras }

export const extrasOf = (schema: ApiSchema): Extras => schema[EXTRAS] ?? {}

/** A check of a single value: returns the problem, or nothing. */
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
