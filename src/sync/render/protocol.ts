// What goes into the cage and what comes out of it. Both sides import this file; the answer is nevertheless only believed after it was checked.

/** Descriptor on which the answer comes; standard output and error belong to the code of the fleet. */
export const ANSWER_FD = 3

export interface RenderRequest {
  /** Text of the files by their path from the root of the fleet. */
  readonly files: Readonly<Record<string, string>>
  readonly entry: string
  /** URL of a file at the root of the release, from which packages and #api are found. */
  readonly release: string
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

export type RenderAnswer =
  | { readonly ok: true; readonly clusters: Readonly<Record<string, readonly unknown[]>> }
  | { readonly ok: false; readonly error: FleetError }

/** Files of the fleet have addresses of their own, so that nothing on disk can be meant and no path of this machine shows up. */
export const FLEET_ROOT = 'fleet:///'
