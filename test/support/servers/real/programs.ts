// Programs of a real Kubernetes, from the folder that KUBEBUILDER_ASSETS names. Nothing is fetched; a missing program is a reason to skip.
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const CONTROL_PLANE = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const
export type ProgramName = (typeof CONTROL_PLANE)[number] | 'kubelet' | 'coredns' | 'kube-proxy' | 'metrics-server'

const folderOf = (): string | undefined => process.env['KUBEBUILDER_ASSETS']

/** Undefined when all of them are there; else why they cannot be run. */
export function whyNoPrograms(names: readonly ProgramName[] = CONTROL_PLANE): string | undefined {
  const folder = folderOf()
  if (folder === undefined) return 'no KUBEBUILDER_ASSETS in the environment'
  const missing = names.filter((name) => !existsSync(join(folder, name)))
  return missing.length === 0 ? undefined : `${missing.join(', ')} not found in ${folder}`
}

export function programFile(name: ProgramName): string {
  const why = whyNoPrograms([name])
  if (why !== undefined) throw new Error(why)
  return join(folderOf() ?? '', name)
}
