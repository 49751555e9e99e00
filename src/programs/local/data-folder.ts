// Where the local fleet of a user keeps its data.
import { join, resolve } from 'node:path'
import { releaseRoot } from '#lib/release-root.ts'
import { DATA_FOLDER, findData } from './find-data.ts'

/** The folder that is given; else that of the fleet around `cwd`; else one that is found, or the one of this checkout. */
export function dataFolder(given: string | undefined, own: string | undefined, cwd: string): string {
  if (given !== undefined) return resolve(cwd, given)
  return own === undefined ? (findData(cwd) ?? join(releaseRoot(), DATA_FOLDER)) : join(own, DATA_FOLDER)
}
