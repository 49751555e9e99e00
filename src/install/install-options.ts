// Options of install, check and uninstall.
import type { SettingFlags } from './load.ts'

export interface InstallOptions extends SettingFlags {
  readonly isUpgrade: boolean
  /** Print the objects; needs no cluster. */
  readonly export?: boolean
  readonly dryRun?: string
  readonly diff?: boolean
  readonly wait: boolean
  readonly ignore?: string
  readonly rename?: boolean
  readonly yes?: boolean
  /** The same run also makes the cluster follow a repository. */
  readonly isFollowing?: boolean
}

export interface CheckOptions extends SettingFlags {
  /** Before an installation. */
  readonly pre?: boolean
  readonly output?: string
}

export interface UninstallOptions {
  readonly dryRun?: boolean
  readonly deleteCrds?: boolean
  readonly keepNamespace?: boolean
  readonly keepAgents?: boolean
  readonly now?: boolean
  /** The cluster's name; asked for if left out. */
  readonly yes?: string
}
