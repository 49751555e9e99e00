// Lists what is below a folder by relative path. Follows no links: they may lead anywhere on this machine, or in circles.
import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

export interface Entry {
  /** Relative to the folder, with "/" as the separator. */
  readonly path: string
  /** Links and devices are `Other`. */
  readonly kind: 'File' | 'Folder' | 'Other'
}

/** The folder itself may be a link only if the caller has checked it. A folder's entries come before those of its subfolders. */
export function* entriesBelow(folder: string, mayEnter: (path: string) => boolean = () => true): Generator<Entry> {
  const folders = ['']
  for (let at = folders.pop(); at !== undefined; at = folders.pop())
    for (const entry of readdirSync(join(folder, at), { withFileTypes: true })) {
      const path = at === '' ? entry.name : `${at}/${entry.name}`
      const kind = entry.isDirectory() ? 'Folder' : entry.isFile() ? 'File' : 'Other'
      if (kind === 'Folder' && mayEnter(path)) folders.push(path)
      yield { path, kind }
    }
}

/** False for a link to a folder, or nothing. */
export const isRealFolder = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
