// A pod as the security checks read it, and the wording of their findings.
import { fields, listAt, type Fields } from '../../builtin/fields.ts'

export interface PodView {
  readonly spec: Fields
  readonly annotations: Readonly<Record<string, string>>
  /** Of the pod itself; empty when it says nothing. */
  readonly security: Fields
  /** Init containers, containers, ephemeral containers, in this order in messages. */
  readonly containers: readonly ContainerView[]
}

export interface ContainerView {
  readonly name: string
  readonly all: Fields
  readonly security: Fields
}

/** What a check found; undefined when it found nothing. */
export interface Violation {
  readonly reason: string
  readonly detail: string
}

export type Check = (pod: PodView) => Violation | undefined

export const viewOfPod = (spec: Fields, annotations: PodView['annotations'] = {}): PodView => ({
  spec,
  annotations,
  security: fields(spec['securityContext']),
  containers: ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) =>
    listAt(spec, list).map((all) => ({
      name: typeof all['name'] === 'string' ? all['name'] : '',
      all,
      security: fields(all['securityContext']),
    })),
  ),
})

export const quoted = (texts: readonly string[]): string => texts.map((t) => `"${t}"`).join(', ')

/** Each once, in order. */
export const sorted = (texts: Iterable<string>): readonly string[] => [...new Set(texts)].toSorted()

export const counted = (one: string, several: string, count: number): string => (count === 1 ? one : several)

/** `container "a"`, `containers "a", "b"`. */
export const named = (names: readonly string[], one = 'container'): string =>
  `${counted(one, `${one}s`, names.length)} ${quoted(names)}`

export const namesOf = (pod: PodView, isBad: (c: ContainerView) => boolean): readonly string[] =>
  pod.containers.filter(isBad).map((c) => c.name)

/** `pod and containers "a", "b"`: all security contexts with a violation; '' when none has one. */
export function settersOf(pod: PodView, isBad: (security: Fields) => boolean): string {
  const names = namesOf(pod, (c) => isBad(c.security))
  return [...(isBad(pod.security) ? ['pod'] : []), ...(names.length === 0 ? [] : [named(names)])].join(' and ')
}

/** All values at one place of the security contexts, of the pod and its containers. */
export const valuesOf = (pod: PodView, read: (security: Fields) => readonly string[]): readonly string[] =>
  sorted([pod.security, ...pod.containers.map((c) => c.security)].flatMap(read))

/** In a user namespace of its own, root of the pod has no rights outside. */
export const hasOwnUsers = ({ spec }: PodView): boolean => spec['hostUsers'] === false
export const isWindows = ({ spec }: PodView): boolean => fields(spec['os'])['name'] === 'windows'
