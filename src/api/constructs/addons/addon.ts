// An addon: objects that a cluster needs before or next to its machines, rendered from a version, values and the cluster's network. Pure.
import { numberOr, textOf } from '#lib/fields.ts'
import type { KubeObject } from '../../schema/object.ts'

export interface AddonNetwork {
  /** IP range of Services. */
  readonly services: string
  /** The cluster's DNS domain. */
  readonly domain: string
}

export type AddonValues = Readonly<Record<string, unknown>>

export interface AddonChart {
  /** By version prefix: 1.12 covers 1.12.1. The first and last Kubernetes 1.x minor each was tested with. */
  readonly versions: Readonly<Record<string, readonly [number, number]>>
  /** Returns a sentence for each missing or wrong value. */
  problems(values: AddonValues): readonly string[]
  render(version: string, values: AddonValues, network: AddonNetwork): readonly KubeObject[]
}

/** By digest, so that exactly the tested image runs, whatever its tag becomes. */
const IMAGE = /^[0-9A-Za-z][0-9A-Za-z._:/-]{0,400}@sha256:[0-9a-f]{64}$/
const MOST_REPLICAS = 5

export function commonProblems(values: AddonValues, known: readonly string[]): readonly string[] {
  const { image, replicas } = values
  return [
    ...Object.keys(values)
      .filter((name) => !known.includes(name))
      .map((name) => `values.${name} is unknown; known are ${known.join(', ')}`),
    ...(typeof image === 'string' && IMAGE.test(image)
      ? []
      : ['values.image must be an image with a digest, name@sha256:…']),
    ...(replicas === undefined || isCount(replicas)
      ? []
      : [`values.replicas must be a number from 1 to ${MOST_REPLICAS}`]),
  ]
}

const isCount = (value: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MOST_REPLICAS

export const imageOf = ({ image }: AddonValues): string => textOf(image)
export const replicasOf = ({ replicas }: AddonValues, usual: number): number => numberOr(replicas, usual)

/** Requirements of the restricted pod security profile for each container. */
export const RESTRICTED = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
} as const

/** Pods run while a node's components are still being installed, since those may need them. */
export const TOLERATIONS = [
  { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' },
  { key: 'kubenode.io/components-pending', effect: 'NoSchedule' },
] as const
