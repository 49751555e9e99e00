// The additional checks of the level "restricted": a pod must drop rights that it does not need. The rules and words of Kubernetes 1.36.
import { fields, listAt, text, textsAt } from '../../builtin/fields.ts'
import { seccompOf, seccompProfile } from './baseline-checks.ts'
import {
  counted,
  isWindows,
  named,
  namesOf,
  quoted,
  settersOf,
  sorted,
  type Check,
  type ContainerView,
} from './pod-view.ts'

/** The check, for pods of an operating system that supports the field. */
export const unlessWindows =
  (check: Check): Check =>
  (pod) =>
    isWindows(pod) ? undefined : check(pod)

export const allowPrivilegeEscalation: Check = (pod) => {
  const names = namesOf(pod, (c) => c.security['allowPrivilegeEscalation'] !== false)
  return names.length === 0
    ? undefined
    : {
        reason: 'allowPrivilegeEscalation != false',
        detail: `${named(names)} must set securityContext.allowPrivilegeEscalation=false`,
      }
}

export const droppedCapabilities: Check = (pod) => {
  const of = ({ security }: ContainerView) => fields(security['capabilities'])
  const added = (c: ContainerView) => textsAt(of(c), 'add').filter((name) => name !== 'NET_BIND_SERVICE')
  const keeping = namesOf(pod, (c) => !textsAt(of(c), 'drop').includes('ALL'))
  const adding = namesOf(pod, (c) => added(c).length > 0)
  const details = [
    ...(keeping.length === 0 ? [] : [`${named(keeping)} must set securityContext.capabilities.drop=["ALL"]`]),
    ...(adding.length === 0
      ? []
      : [
          `${named(adding)} must not include ${quoted(sorted(pod.containers.flatMap(added)))} in securityContext.capabilities.add`,
        ]),
  ]
  return details.length === 0 ? undefined : { reason: 'unrestricted capabilities', detail: details.join('; ') }
}

const ALLOWED_VOLUMES: ReadonlySet<string> = new Set([
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
])

export const volumeTypes: Check = ({ spec }) => {
  const typesOf = (volume: Readonly<Record<string, unknown>>) =>
    Object.keys(volume).filter((key) => key !== 'name' && volume[key] !== undefined)
  const bad = listAt(spec, 'volumes').filter((v) => !typesOf(v).some((type) => ALLOWED_VOLUMES.has(type)))
  if (bad.length === 0) return undefined
  const types = sorted(bad.map((v) => typesOf(v)[0] ?? 'unknown'))
  const names = bad.map((v) => text(v['name']))
  const what = counted('restricted volume type', 'restricted volume types', types.length)
  return {
    reason: 'restricted volume types',
    detail: `${named(names, 'volume')} ${counted('uses', 'use', names.length)} ${what} ${quoted(types)}`,
  }
}

export const runAsNonRoot: Check = (pod) => {
  const reason = 'runAsNonRoot != true'
  const setters = settersOf(pod, (s) => s['runAsNonRoot'] === false)
  if (setters !== '') return { reason, detail: `${setters} must not set securityContext.runAsNonRoot=false` }
  const silent = pod.security['runAsNonRoot'] === true ? [] : namesOf(pod, (c) => c.security['runAsNonRoot'] !== true)
  return silent.length === 0
    ? undefined
    : { reason, detail: `pod or ${named(silent)} must set securityContext.runAsNonRoot=true` }
}

export const runAsUser: Check = (pod) => {
  const setters = settersOf(pod, (s) => s['runAsUser'] === 0)
  return setters === '' ? undefined : { reason: 'runAsUser=0', detail: `${setters} must not set runAsUser=0` }
}

export const requiredSeccompProfile: Check = (pod) => {
  const bad = seccompProfile(pod)
  if (bad !== undefined) return bad
  const silent = seccompOf(pod.security).length > 0 ? [] : namesOf(pod, (c) => seccompOf(c.security).length === 0)
  return silent.length === 0
    ? undefined
    : {
        reason: 'seccompProfile',
        detail: `pod or ${named(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
      }
}
