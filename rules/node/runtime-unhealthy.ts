// A container runtime that no longer answers: the same ladder as for a kubelet, with a higher priority, since kubelets fail with their runtime.
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'
import { serviceUnhealthy } from './service-unhealthy.ts'

export const runtimeUnhealthy: NodeRemedierInput['spec'] = {
  ...serviceUnhealthy('ContainerRuntimeUnhealthy', 'containerd'),
  priority: 15,
}
