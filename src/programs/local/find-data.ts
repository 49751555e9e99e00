// Finds the data folder of the current folder: one that contains it (such as its git repository or logs), or one at or below a parent.
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { layoutOf } from './layout.ts'
import { isLocked } from './lock.ts'

export const DATA_FOLDER = '.kubenode'

const isData = (folder: string): boolean => existsSync(layoutOf(folder).state)

/** Undefined if no parent has one. */
export function findData(from: string): string | undefined {
  for (let dir = resolve(from); ; dir = dirname(dir)) {
    const found = [dir, join(dir, DATA_FOLDER)].find(isData)
    if (found !== undefined || dirname(dir) === dir) return found
  }
}

/** The fleet in that folder, if it is running and its servers started at least once. */
export function runningFleet(from: string): { readonly data: string; readonly kubeconfig: string } | undefined {
  const data = findData(from)
  if (data === undefined) return undefined
  const { adminKubeconfig: kubeconfig, ...layout } = layoutOf(data)
  return existsSync(kubeconfig) && isLocked(layout) ? { data, kubeconfig } : undefined
}
