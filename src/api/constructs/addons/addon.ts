// What an addon is: the objects that a cluster needs before or beside its machines, rendered from a version, values and the network of the cluster. Pure.
import { numberOr, textOf } from '#lib/fields.ts'
import type { KubeObject } from '../../schema/object.ts'

export interface AddonNetwork {
  /** Range of the Services. */
  readonly services: string
  /** DNS domain of the cluster. */
  readonly domain: string
}

export type AddonValues = Readonly<Record<string, unknown>>

export interface AddonChart {
  /** By version, as far as it is known: 1.12 is that of 1.12.1. The minors of Kubernetes 1.x with which it is tested, first and last. */
  readonly versions: Readonly<Record<string, readonly [number, number]>>
  /** Of values, with a sentence about each that is wrong or missing. */
  problems(values: AddonValues): readonly string[]
  render(version: string, values: AddonValues, network: AddonNetwork): readonly KubeObject[]
}

/** What runs is what was tested, whatever a tag says tomorrow. */
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

/** What the restricted profile of pod security asks of each container. */
export const RESTRICTED = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
} as const

/** Pods run while the components of a node are still being installed, since those may need them. */
export const TOLERATIONS = [
  { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' },
  { key: 'kubenode.io/components-pending', effect: 'NoSchedule' },
] as const
