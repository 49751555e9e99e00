// What to do after an installation, by what the cluster is. Pure.
import { roleOf } from './phases.ts'
import type { Release } from './release.ts'

export function nextSteps({ version, objects }: Release): readonly string[] {
  const roles = objects.filter((o) => o.kind === 'Deployment').map(roleOf)
  return [
    `KubeNode ${version} is installed`,
    'to check it again: kubenode check',
    ...(roles.includes('controllers') ? ['to observe the nodes that are there: kubenode import --all --dry-run'] : []),
    ...(roles.includes('sync')
      ? ['to follow a git repository: create a FleetSource (kubectl explain fleetsource.spec)']
      : []),
  ]
}
