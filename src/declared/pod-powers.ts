// What a declared pod uses beyond its own containers: fields with its node's power, Secrets, service accounts. Pure.
import {
  ASKS,
  CLAIM_FIELDS,
  CONTAINER_FIELDS,
  HOOKS,
  MAX_PRIORITY,
  ORDINARY_ANNOTATIONS,
  ORDINARY_PROFILE,
  POD_FIELDS,
  PORT_FIELDS,
  POWERS_WHEN_TRUE,
  PROBES,
  PROFILES,
  PROJECTED_FIELDS,
  SECURITY_FIELDS,
  TOKEN_FIELDS,
  VOLUME_FIELDS,
} from '#api/ordinary-pods.ts'
import { isObject } from '#lib/json.ts'

export const at = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((v, key) => (isObject(v) && Object.hasOwn(v, key) ? v[key] : undefined), value)
export const listOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? (value as readonly unknown[]) : []
const keysOf = (value: unknown): readonly string[] => (isObject(value) ? Object.keys(value) : [])
export const texts = (values: readonly unknown[]): readonly string[] => [
  ...new Set(values.filter((v): v is string => typeof v === 'string' && v !== '')),
]

const WHEN_TRUE: ReadonlySet<string> = new Set(POWERS_WHEN_TRUE)

/** Generators write unset fields as null. */
const beyond = (value: unknown, fields: readonly string[]): readonly string[] =>
  keysOf(value).filter((k) => {
    const given = at(value, k)
    return !fields.includes(k) && given !== undefined && given !== null && !(WHEN_TRUE.has(k) && given === false)
  })

const containersOf = (pod: unknown): readonly unknown[] =>
  ['containers', 'initContainers'].flatMap((list) => listOf(at(pod, list)))

/** The names of the fields, for users; empty for an ordinary pod. */
export function powerFields(template: unknown): readonly string[] {
  const pod = at(template, 'spec')
  const foreign = keysOf(at(template, 'metadata', 'annotations')).filter(
    (a) => !ORDINARY_ANNOTATIONS.some((prefix) => a.startsWith(prefix)),
  )
  const priority = at(pod, 'priority')
  return [
    ...foreign.map((a) => `annotation ${a}`),
    ...beyond(pod, POD_FIELDS),
    ...securityPowers(at(pod, 'securityContext')),
    ...(typeof priority === 'number' && priority > MAX_PRIORITY ? ['priority'] : []),
    ...listOf(at(pod, 'volumes')).flatMap(volumePowers),
    ...containersOf(pod).flatMap(containerPowers),
  ]
}

function securityPowers(security: unknown): readonly string[] {
  const added = listOf(at(security, 'capabilities', 'add')).length > 0 ? ['capabilities.add'] : []
  const profiles = PROFILES.filter((p) => {
    const profile = at(security, p)
    return profile !== undefined && profile !== null && at(profile, 'type') !== ORDINARY_PROFILE
  })
  return [...beyond(security, SECURITY_FIELDS), ...added, ...profiles].map((f) => `securityContext.${f}`)
}

function containerPowers(container: unknown): readonly string[] {
  const ports = listOf(at(container, 'ports')).flatMap((p) => beyond(p, PORT_FIELDS))
  const checks = [...PROBES.map((p) => at(container, p)), ...HOOKS.map((h) => at(container, 'lifecycle', h))]
  const asks = checks.flatMap((check) => ASKS.filter((ask) => texts([at(check, ask, 'host')]).length > 0))
  return [
    ...beyond(container, CONTAINER_FIELDS),
    ...securityPowers(at(container, 'securityContext')),
    ...ports.map((f) => `ports.${f}`),
    ...asks.map((ask) => `${ask}.host`),
  ]
}

const volumePowers = (volume: unknown): readonly string[] =>
  [
    ...beyond(volume, VOLUME_FIELDS),
    ...listOf(at(volume, 'projected', 'sources')).flatMap((s) =>
      [
        ...beyond(s, PROJECTED_FIELDS),
        ...beyond(at(s, 'serviceAccountToken'), TOKEN_FIELDS).map((f) => `serviceAccountToken.${f}`),
      ].map((f) => `projected.${f}`),
    ),
    ...claimPowers(at(volume, 'ephemeral', 'volumeClaimTemplate')),
  ].map((f) => `volumes.${f}`)

/** Powers of a claim that is created for a pod. */
export const claimPowers = (claim: unknown): readonly string[] =>
  beyond(at(claim, 'spec'), CLAIM_FIELDS).map((f) => `volumeClaimTemplate.${f}`)

export function secretsOf(pod: unknown): readonly string[] {
  const sources = listOf(at(pod, 'volumes')).flatMap((v) => [
    at(v, 'secret', 'secretName'),
    ...listOf(at(v, 'projected', 'sources')).map((s) => at(s, 'secret', 'name')),
  ])
  const variables = containersOf(pod).flatMap((c) => [
    ...listOf(at(c, 'envFrom')).map((f) => at(f, 'secretRef', 'name')),
    ...listOf(at(c, 'env')).map((e) => at(e, 'valueFrom', 'secretKeyRef', 'name')),
  ])
  return texts([...sources, ...variables, ...listOf(at(pod, 'imagePullSecrets')).map((s) => at(s, 'name'))])
}

/** Every namespace has a default account without rights; it needs no listing. */
export const accountsOf = (pod: unknown): readonly string[] =>
  texts(['serviceAccountName', 'serviceAccount'].map((field) => at(pod, field))).filter((a) => a !== 'default')
