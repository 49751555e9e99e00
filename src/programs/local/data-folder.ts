// Picks the data folder of a user's local fleet.
import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { releaseRoot } from '#lib/release-root.ts'
import { DATA_FOLDER, findData } from './find-data.ts'
import { ownFleetFolder } from './own-fleet.ts'

/** The given folder; else that of the fleet around `cwd`; else one found on the way up, or that of this checkout. */
export function dataFolder(given: string | undefined, own: string | undefined, cwd: string): string {
  if (given !== undefined) return resolve(cwd, given)
  return own === undefined ? (findData(cwd) ?? join(releaseRoot(), DATA_FOLDER)) : join(own, DATA_FOLDER)
}

/** Whether a fleet that `kubenode local up` starts in this folder is then found from here. */
export function startsAround(cwd: string): boolean {
  if (!existsSync(cwd)) return false
  const folder = dirname(dataFolder(undefined, ownFleetFolder(cwd, releaseRoot()), cwd))
  const way = relative(realpathSync(folder), realpathSync(cwd))
  return way !== '..' && !way.startsWith('../')
}
