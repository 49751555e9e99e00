// Input and output of the cage. Both sides import this file; the answer is still checked before use.

/** File descriptor for the answer; standard output and error belong to fleet code. */
export const ANSWER_FD = 3

export interface RenderRequest {
  /** Contents of the files by their path from the fleet's root. */
  readonly files: Readonly<Record<string, string>>
  /** The module that declares the fleet, or the modules whose exports are returned as data. */
  readonly entry: string | readonly string[]
  /** URL of a file at the root of the release, from which packages and kubenode itself are found. */
  readonly release: string
  /** URLs of built module files, by import name; a name that is not listed is found in the release. */
  readonly built?: Readonly<Record<string, string>>
  /** The frozen clock, milliseconds since 1970. */
  readonly now: number
  readonly seed: number
}

export interface FleetError {
  readonly kind: 'Import' | 'Syntax' | 'Thrown' | 'NothingSynthesised'
  readonly message: string
  /** `fleet/main.ts:12:3`, when fleet code caused the error. */
  readonly at?: string
}

/** The exports of one module, or why it cannot be loaded. */
export type LoadedModule = { readonly exports: unknown } | { readonly error: FleetError }

/** One JSON line of the answer, so that each can be limited and read separately. The last one is an error, or the number of lines before it. */
export type AnswerLine =
  | { readonly target: string }
  /** For the last named target, with the fleet line that made it: `fleet/machines/workers.ts:14`. */
  | { readonly object: unknown; readonly at?: string | undefined }
  | { readonly module: string; readonly loaded: LoadedModule }
  | { readonly error: FleetError }
  | { readonly end: number }

/** Fleet files have their own addresses, so that they cannot refer to the disk and no path of this machine shows up. */
export const FLEET_ROOT = 'fleet:///'
