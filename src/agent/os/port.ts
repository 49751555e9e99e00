// What a component of type OS needs of its host. The switch of a component calls it, and nothing else does.
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'

export interface OsVersion {
  readonly slot: string
  readonly spec: MachineComponentSpec
}

/** Why a version does not run. */
export interface Mismatch {
  readonly what: string
  /** This: it was booted, and is not what it says. Unknown: what was booted could not be read. */
  readonly booted: 'Other' | 'This' | 'Unknown'
}

export interface OsPort {
  /** Why this host cannot boot such a version once and go back by itself; undefined when it can. */
  refusal(spec: MachineComponentSpec): Promise<string | undefined>
  /** Installs it beside what runs and adds its entry. What boots next does not change. */
  stage(version: OsVersion): Promise<void>
  /** The entry that boots by default. */
  byDefault(): Promise<string | undefined>
  /** The next boot, and only that one, is this version. */
  arm(version: OsVersion): Promise<void>
  /** This version runs, and is not judged yet: from now on the next boot is the version before. */
  putOnTrial(version: OsVersion): Promise<void>
  /** Takes `arm` back; `before` is what boots by default again. `failed`: undefined where its slot is damaged. */
  disarm(before: string | undefined, failed?: MachineComponentSpec): Promise<void>
  /** Makes what runs the default. */
  confirm(): Promise<void>
  /** Undefined: this version runs. */
  mismatch(version: OsVersion): Promise<Mismatch | undefined>
  /** Removes own entries and kernels that belong to none of these, never what runs. */
  tidy(kept: readonly OsVersion[]): Promise<void>
}
