// Picks the data folder of a user's local fleet.
import { join, resolve } from 'node:path'
import { releaseRoot } from '#lib/release-root.ts'
import { DATA_FOLDER, findData } from './find-data.ts'

/** The given folder; else that of the fleet around `cwd`; else one found on the way up, or that of this checkout. */
export function dataFolder(given: string | undefined, own: string | undefined, cwd: string): string {
  if (given !== undefined) return resolve(cwd, given)
  return own === undefined ? (findData(cwd) ?? join(releaseRoot(), DATA_FOLDER)) : join(own, DATA_FOLDER)
}
