// Finds the network plugin of a cluster by its DaemonSets: whether NetworkPolicies are enforced cannot be read from the API. Pure.
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'

export interface NetworkPlugins {
  /** As `calico-node (daemonset kube-system/calico-node)`. */
  readonly enforcing: readonly string[]
  /** Known plugins that leave NetworkPolicies without an effect, unless another one is added to them. */
  readonly others: readonly string[]
}

/** By the last part of an image, since mirrors change the rest; in the order in which one wins over another of the same pod. */
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

/** An image that is only called `node` is Calico's where the DaemonSet says so. */
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
