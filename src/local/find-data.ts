// The data folder that a person means by where they stand: inside of it (its git repository, its logs), or in or below the folder that has it.
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { layoutOf } from './layout.ts'

export const DATA_FOLDER = '.kubenode'

const isData = (folder: string): boolean => existsSync(layoutOf(folder).state)

/** Undefined where there is none on the way up. */
export function findData(from: string): string | undefined {
  for (let dir = resolve(from); ; dir = dirname(dir)) {
    const found = [dir, join(dir, DATA_FOLDER)].find(isData)
    if (found !== undefined || dirname(dir) === dir) return found
  }
}
