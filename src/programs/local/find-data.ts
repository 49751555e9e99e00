// The data folder that a person means by where they stand: inside of it (its git repository, its logs), or in or below the folder that has it.
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { layoutOf } from './layout.ts'
import { isLocked } from './lock.ts'

export const DATA_FOLDER = '.kubenode'

const isData = (folder: string): boolean => existsSync(layoutOf(folder).state)

/** Undefined where there is none on the way up. */
export function findData(from: string): string | undefined {
  for (let dir = resolve(from); ; dir = dirname(dir)) {
    const found = [dir, join(dir, DATA_FOLDER)].find(isData)
    if (found !== undefined || dirname(dir) === dir) return found
  }
}

/** The fleet of that folder, while it runs and its servers have been started once. */
export function runningFleet(from: string): { readonly data: string; readonly kubeconfig: string } | undefined {
  const data = findData(from)
  if (data === undefined) return undefined
  const { adminKubeconfig: kubeconfig, ...layout } = layoutOf(data)
  return existsSync(kubeconfig) && isLocked(layout) ? { data, kubeconfig } : undefined
}
