// What to do after an installation, depending on the cluster's role. Pure.
import { X509Certificate } from 'node:crypto'
import { ARTIFACTS_SECRET, SYSTEM_NAMESPACE } from '#api/names.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { roleOf } from './phases.ts'
import type { Release } from './release.ts'

export interface AfterInstall {
  /** Whether the run waited for the programs. */
  readonly isReady: boolean
  /** PEM of the CA that hosts pin; undefined until an artifacts program has created it. */
  readonly artifactsCa?: string | undefined
  readonly isFollowing?: boolean
}

export function nextSteps(
  { version, objects }: Release,
  { isReady, artifactsCa, isFollowing = false }: AfterInstall,
): readonly string[] {
  const workloads = objects.filter((o) => o.kind === 'Deployment')
  const roles = workloads.map(roleOf)
  const controllers = workloads.find((o) => roleOf(o) === 'controllers')
  const base = controllers === undefined ? undefined : argument(controllers, '--artifact-base')
  return [
    isReady ? `KubeNode ${version} is installed` : `KubeNode ${version} is applied; its programs are starting`,
    isReady ? 'to check it again: kubenode check' : 'to see whether it works: kubenode check',
    ...(base === undefined ? [] : artifactLines(base, artifactsCa)),
    ...(roles.includes('controllers') ? ['to observe the nodes that are there: kubenode import --all --dry-run'] : []),
    ...(base === undefined ? [] : ['to make a host a node: docs/tasks/first-node.md']),
    ...(roles.includes('sync') && !isFollowing
      ? ['to follow a git repository: kubenode bootstrap --git URL (docs/tasks/own-fleet.md)']
      : []),
  ]
}

const artifactLines = (base: string, ca: string | undefined): readonly string[] => [
  `hosts download components and the agent from ${base} (docs/operations/install.md, Artifacts and agents)`,
  `to write the authority that they verify: kubectl -n ${SYSTEM_NAMESPACE} get secret ${ARTIFACTS_SECRET} -o jsonpath='{.data.ca\\.crt}' | base64 -d > artifacts-ca.pem`,
  ...(ca === undefined ? [] : [`its SHA-256 fingerprint: ${new X509Certificate(ca).fingerprint256}`]),
]

/** The value after a flag of the first container. */
function argument(workload: KubeObject, flag: string): string | undefined {
  const at = (value: unknown, key: string): unknown => (isObject(value) ? value[key] : undefined)
  const containers = at(at(at(workload['spec'], 'template'), 'spec'), 'containers')
  const args = Array.isArray(containers) ? at(containers[0], 'args') : undefined
  const found: unknown = Array.isArray(args) && args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined
  return typeof found === 'string' ? found : undefined
}
