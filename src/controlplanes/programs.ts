// The programs of Kubernetes that a control plane on one machine is made of, as a folder holds them.
import { accessSync, constants, statSync } from 'node:fs'
import { join } from 'node:path'

const NEEDED = ['etcd', 'kube-apiserver', 'kube-controller-manager'] as const
/** Started where it is there: nothing of KubeNode waits for it. */
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
