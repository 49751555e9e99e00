// The Kubernetes programs of a control plane on one machine, in one folder.
import { accessSync, constants, statSync } from 'node:fs'
import { join } from 'node:path'

const NEEDED = ['etcd', 'kube-apiserver', 'kube-controller-manager'] as const
/** Started if present: nothing in KubeNode depends on it. */
type Extra = 'kube-scheduler'
export type ProgramName = (typeof NEEDED)[number] | Extra

export const missingPrograms = (folder: string): readonly string[] =>
  NEEDED.filter((name) => !isProgram(join(folder, name)))

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
