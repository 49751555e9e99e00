// Finds changes that users made to the running programs after the installation: scaled to zero, or labels and selectors that no longer match. Pure. For
// Kubernetes a Deployment with no replicas is healthy, and a Service without pods is not an error.
import { isObject } from '#lib/json.ts'
import { fieldAt } from '#lib/fields.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { COMPONENT, isLabelledOurs, OURS, PART_OF } from '../release.ts'

/** Everything in `kubenode-system`. */
export interface RunningObjects {
  readonly deployments: readonly KubeObject[]
  readonly services: readonly KubeObject[]
  readonly pods: readonly KubeObject[]
}

export interface Alteration {
  readonly object: string
  readonly how: string
  readonly remedy: string
}

const INSTALL = 'run kubenode install with its settings again, which sets it back'

const textsAt = (v: unknown, ...path: readonly string[]): Readonly<Record<string, string>> => {
  const found = fieldAt(v, ...path)
  return isObject(found) ? (found as Readonly<Record<string, string>>) : {}
}

const fits = (selector: Readonly<Record<string, string>>, labels: Readonly<Record<string, string>>): boolean =>
  Object.keys(selector).length > 0 && Object.entries(selector).every(([key, value]) => labels[key] === value)

const shown = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',') || 'none'

/** `installed`: the objects that the installer wrote, as `Deployment/kubenode-sync`. */
export function alterations(
  { deployments, services, pods }: RunningObjects,
  installed: ReadonlySet<string>,
): readonly Alteration[] {
  const isInstalled = (o: KubeObject, kind: string) => isLabelledOurs(o) || installed.has(`${kind}/${o.metadata.name}`)
  const own = deployments.filter((d) => isInstalled(d, 'Deployment'))
  return [
    ...own.flatMap(alterationOfDeployment),
    ...services
      .filter((s) => isInstalled(s, 'Service') && !own.some((d) => fits(textsAt(s, 'spec', 'selector'), podLabels(d))))
      .map((s) => ({
        object: `service ${s.metadata.name}`,
        how: `its selector (${shown(textsAt(s, 'spec', 'selector'))}) fits the pods of no deployment`,
        remedy: INSTALL,
      })),
    ...pods.filter(isLoose).map((p) => ({
      object: `pod ${p.metadata.name}`,
      how: 'its labels were changed, so its deployment has replaced it and it runs on beside its successor',
      remedy: `run kubectl delete pod -n ${p.metadata.namespace} ${p.metadata.name}`,
    })),
  ]
}

const podLabels = (deployment: KubeObject) => textsAt(deployment, 'spec', 'template', 'metadata', 'labels')

function alterationOfDeployment(deployment: KubeObject): readonly Alteration[] {
  const object = `deployment ${deployment.metadata.name}`
  return [
    ...(fieldAt(deployment, 'spec', 'replicas') === 0
      ? [{ object, how: 'it was scaled to 0, so nothing of it runs', remedy: INSTALL }]
      : []),
    ...(fieldAt(deployment, 'spec', 'paused') === true
      ? [
          {
            object,
            how: 'its rollout is paused, so no upgrade reaches its pods',
            remedy: `run kubectl rollout resume -n ${deployment.metadata.namespace} deployment/${deployment.metadata.name}`,
          },
        ]
      : []),
    ...(isLabelledOurs(deployment)
      ? []
      : [{ object, how: `its label ${PART_OF}=${OURS} was removed or changed`, remedy: INSTALL }]),
  ]
}

/** A ReplicaSet releases a pod whose labels it no longer selects, and the pod keeps running. */
function isLoose({ metadata }: KubeObject): boolean {
  const { labels = {}, ownerReferences = [], deletionTimestamp } = metadata
  const wasOurs = labels[PART_OF] === OURS || labels[COMPONENT] !== undefined
  return wasOurs && deletionTimestamp === undefined && !ownerReferences.some((o) => o.controller === true)
}
