// Finds the cluster's network plugin by its DaemonSets, because the API does not show whether NetworkPolicies are enforced. Pure.
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'

export interface NetworkPlugins {
  /** As `calico-node (daemonset kube-system/calico-node)`. */
  readonly enforcing: readonly string[]
  /** Known plugins that do not enforce NetworkPolicies unless another one is added. */
  readonly others: readonly string[]
}

/** Matches the last part of an image, since mirrors change the rest. If a pod has several, the first in this order wins. */
const PLUGINS: readonly { readonly name: string; readonly image: RegExp; readonly enforces: boolean }[] = [
  { name: 'Calico', image: /(^|\/)(calico-)?node([:@]|$)/, enforces: true },
  { name: 'Cilium', image: /(^|\/)cilium([:@]|$)/, enforces: true },
  { name: 'Antrea', image: /(^|\/)antrea-(agent-)?(ubuntu|ubi|linux)[a-z-]*([:@]|$)/, enforces: true },
  { name: 'kube-router', image: /(^|\/)kube-router([:@]|$)/, enforces: true },
  { name: 'Weave Net', image: /(^|\/)weave-npc([:@]|$)/, enforces: true },
  { name: 'Kube-OVN', image: /(^|\/)kube-ovn([:@]|$)/, enforces: true },
  { name: 'kube-network-policies', image: /(^|\/)kube-network-policies([:@]|$)/, enforces: true },
  { name: 'Azure network policies', image: /(^|\/)azure-npm([:@]|$)/, enforces: true },
  { name: 'flannel', image: /(^|\/)flannel([:@]|$)/, enforces: false },
]

/** An image that is just called `node` is Calico's if the DaemonSet's name matches. */
const isCalico = (workload: KubeObject): boolean => /calico|canal/.test(workload.metadata.name ?? '')

function imagesIn(workload: KubeObject): readonly string[] {
  const spec = isObject(workload['spec']) ? workload['spec'] : {}
  const template = isObject(spec['template']) ? spec['template'] : {}
  const containers: unknown = isObject(template['spec']) ? template['spec']['containers'] : undefined
  return (Array.isArray(containers) ? containers : []).flatMap((c) =>
    isObject(c) && typeof c['image'] === 'string' ? [c['image']] : [],
  )
}

export function networkPluginsIn(workloads: readonly KubeObject[]): NetworkPlugins {
  const found = workloads
    .filter((w) => w.kind === 'DaemonSet')
    .flatMap((workload) => {
      const { name = '', namespace = '' } = workload.metadata
      const images = imagesIn(workload)
      return PLUGINS.filter(
        (p) => images.some((i) => p.image.test(i)) && (p.name !== 'Calico' || isCalico(workload)),
      ).map((p) => ({ ...p, text: `${p.name} (daemonset ${namespace}/${name})` }))
    })
  const texts = (enforces: boolean) => [...new Set(found.filter((f) => f.enforces === enforces).map((f) => f.text))]
  return { enforcing: texts(true), others: texts(false) }
}
