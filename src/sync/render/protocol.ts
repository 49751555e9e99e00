// The input and output of the cage. Both sides import this file; the answer is still checked before use.

/** Descriptor on which the answer comes; standard output and error belong to the code of the fleet. */
export const ANSWER_FD = 3

export interface RenderRequest {
  /** Text of the files by their path from the root of the fleet. */
  readonly files: Readonly<Record<string, string>>
  /** The module that declares the fleet, or the modules whose exports are returned as data. */
  readonly entry: string | readonly string[]
  /** URL of a file at the root of the release, from which packages and kubenode itself are found. */
  readonly release: string
  /** URLs of the built files of modules, by the names that are imported; a name that is not among them is found in the release. */
  readonly built?: Readonly<Record<string, string>>
  /** The frozen clock, milliseconds since 1970. */
  readonly now: number
  readonly seed: number
}

export interface FleetError {
  readonly kind: 'Import' | 'Syntax' | 'Thrown' | 'NothingSynthesised'
  readonly message: string
  /** `fleet/main.ts:12:3`, when the code of the fleet is to blame. */
  readonly at?: string
}

/** The exports of one module, or why it cannot be loaded. */
export type LoadedModule = { readonly exports: unknown } | { readonly error: FleetError }

/** One line of the answer, as JSON: so each can be bounded and read by itself. The last one is an error, or the count of those before it. */
export type AnswerLine =
  | { readonly target: string }
  /** For the last named target, with the line of the fleet that made it: `fleet/machines/workers.ts:14`. */
  | { readonly object: unknown; readonly at?: string | undefined }
  | { readonly module: string; readonly loaded: LoadedModule }
  | { readonly error: FleetError }
  | { readonly end: number }

/** Files of the fleet have their own addresses, so that they cannot refer to the disk and no path of this machine shows up. */
export const FLEET_ROOT = 'fleet:///'
