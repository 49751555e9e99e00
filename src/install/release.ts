// What a KubeNode release creates in a cluster: definitions and all other objects.
import type { KubeObject } from '#api/schema/object.ts'

export interface Release {
  readonly version: string
  readonly definitions: readonly KubeObject[]
  /** Namespaces, policies, rights, workloads. */
  readonly objects: readonly KubeObject[]
}

export const PART_OF = 'app.kubernetes.io/part-of'
export const COMPONENT = 'app.kubernetes.io/component'
export const VERSION_LABEL = 'app.kubernetes.io/version'
export const OURS = 'kubenode'

export const isLabelledOurs = (o: KubeObject): boolean => o.metadata.labels?.[PART_OF] === OURS

/** Labels identify installed objects later, even without the Inventory. */
export function labelled(object: KubeObject, version: string): KubeObject {
  const labels = { ...object.metadata.labels, [PART_OF]: OURS, [VERSION_LABEL]: labelValue(version) }
  return { ...object, metadata: { ...object.metadata, labels } }
}

/** A build such as 1.2.0+3 is not a valid label value. */
export const labelValue = (version: string): string => version.replaceAll(/[^A-Za-z0-9._-]/g, '_').slice(0, 63)
